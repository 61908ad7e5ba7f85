"""Case files of the fidelity benchmark: what a case says, and what is wrong with a file that says it badly.

The schema is documented in docs/fidelity-cases.md. A file holds `[[case]]` tables; `[defaults]` fills what a
case leaves out, and `[template.NAME]` does so for the cases with `like = "NAME"`. Parameters are merged key by
key. Nothing is evaluated here, and torch is not needed.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .fidelity_kinds import CATEGORIES, FRONT_ENDS, KINDS, PRECISIONS, Kind
from .fidelity_units import UNITS

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHIPPED = ROOT / "benchmarks" / "cases"
#: names of files whose cases are blind unless they say otherwise
BLIND_FILES = ("blind_", "fit_")


class CaseError(ValueError):
    """A case file is wrong; says where, how, and what would be right."""


@dataclass(frozen=True)
class Case:
    """One published figure and what is needed to predict it."""

    id: str
    kind: str
    chip: str
    metric: str
    published: float
    unit: str
    source: str
    category: str
    system: str | None = None
    precision: str = "fp32"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: 1 hardware and configuration known, 2 partly known, 3 simulated or recalled
    quality: int = 1
    notes: str = ""
    #: whether the row may be used to fit constants
    fit: bool = False
    #: what the published program is written in, of what whole models are written in here
    front_end: str = FRONT_ENDS[0]
    #: cases of one family are not independent: one program of one publication at several sizes
    family: str = ""
    #: the model was not changed for this row after it was known; such rows are never fitted
    blind: bool = False
    #: what in its inputs was chosen after a prediction had been seen, and why
    chosen_after: str = ""

    @property
    def dtype(self) -> str:
        """Type of the data."""
        return PRECISIONS[self.precision][0]

    @property
    def partials(self) -> str:
        """Type of partial sums."""
        return PRECISIONS[self.precision][1]


_FIELDS = {each.name: each for each in dataclasses.fields(Case)}
_REQUIRED = ("id", "kind", "chip", "metric", "published", "unit", "source")
_TYPES: dict[str, tuple[type, ...]] = {
    "id": (str,), "kind": (str,), "chip": (str,), "metric": (str,), "published": (int, float), "unit": (str,),
    "source": (str,), "category": (str,), "system": (str,), "precision": (str,), "parameters": (dict,),
    "quality": (int,), "notes": (str,), "fit": (bool,), "front_end": (str,),
    "family": (str,), "blind": (bool,), "chosen_after": (str,),
}  # fmt: skip


def shipped_cases() -> list[Case]:
    """All cases that the project ships."""
    return load_files(sorted(SHIPPED.glob("*.toml")))


def load_files(paths: Iterable[pathlib.Path]) -> list[Case]:
    """The cases of several files; an id may occur once.

    Raises:
        CaseError: all that is wrong in the first bad file.
    """
    cases: list[Case] = []
    seen: dict[str, pathlib.Path] = {}
    for path in paths:
        for case in load(path):
            if case.id in seen:
                raise CaseError(
                    f"{path}: case id {case.id!r} occurs in {seen[case.id]} already: ids must be unique"
                )
            seen[case.id] = path
            cases.append(case)
    return cases


def load(path: pathlib.Path) -> list[Case]:
    """The cases of one file.

    Raises:
        CaseError: listing everything that is wrong in it.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CaseError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}: not a TOML file: {error}") from error
    if path.name.startswith(BLIND_FILES):
        content["defaults"] = {"blind": True, **content.get("defaults", {})}
    return parse(content, str(path))


def parse(content: Mapping[str, Any], origin: str) -> list[Case]:
    """The cases in the content of a file called `origin`."""
    unknown = sorted(set(content) - {"case", "defaults", "template", "left_out"})
    if unknown:
        raise CaseError(
            f"{origin}: unknown table {', '.join(unknown)}; there are case, defaults, template, left_out"
        )
    tables = content.get("case", [])
    if not isinstance(tables, list) or not tables:
        raise CaseError(f"{origin}: no [[case]] tables")
    defaults = content.get("defaults", {})
    templates = content.get("template", {})
    problems: list[str] = []
    cases: list[Case] = []
    for number, table in enumerate(tables, 1):
        where = f"case {table.get('id', number)!r}"
        try:
            merged = _merged(table, defaults, templates)
        except CaseError as error:
            problems.append(f"{where}: {error}")
            continue
        found = _problems(merged)
        problems += [f"{where}: {problem}" for problem in found]
        if not found:
            kind = KINDS[merged["kind"]]
            merged.setdefault("category", kind.category)
            merged.setdefault("family", default_family(merged))
            merged["published"] = float(merged["published"])
            cases.append(Case(**merged))
    if problems:
        raise CaseError("\n".join(f"{origin}: {problem}" for problem in problems))
    return cases


def default_family(table: Mapping[str, Any]) -> str:
    """The model (or the kind) of a case, and where it was published."""
    return f"{table['parameters'].get('model') or table['kind']}, {publication(table['source'])}"


def publication(source: str) -> str:
    """The repository or the site that a source names first, its rounds taken together; else its first words."""
    text = re.sub(r"https?://(www\.)?(github\.com/)?", "", source)
    found = re.search(r"[\w.-]*\w/[\w.-]*\w", text) if re.match(r"\S*/|[^,(]*\([^)]*/", text) else None
    name = found[0] if found is not None else re.split(r"[,(]", text)[0].strip()
    return re.sub(r"_v\d[\w.]*$", "", name)


def left_out(paths: Iterable[pathlib.Path]) -> dict[str, str]:
    """Rows of the published table that no case expresses, by id, and why: the `[left_out]` tables."""
    rows: dict[str, str] = {}
    for path in paths:
        rows.update(tomllib.loads(path.read_text(encoding="utf-8")).get("left_out", {}))
    return rows


def _merged(
    table: Mapping[str, Any], defaults: Mapping[str, Any], templates: Mapping[str, Any]
) -> dict[str, Any]:
    table = dict(table)
    name = table.pop("like", None)
    if name is not None and name not in templates:
        raise CaseError(
            f"like = {name!r}: there is no such template; there are {', '.join(templates) or 'none'}"
        )
    merged: dict[str, Any] = {}
    for layer in (defaults, templates.get(name, {}), table):
        parameters = {**merged.get("parameters", {}), **layer.get("parameters", {})}
        merged.update(layer)
        merged["parameters"] = parameters
    return merged


def _problems(table: Mapping[str, Any]) -> list[str]:
    """What is wrong with a case, in words."""
    unknown = sorted(set(table) - set(_FIELDS))
    problems = [f"unknown field {name}; there are {', '.join(_FIELDS)} and like" for name in unknown]
    problems += [f"field {name} is missing" for name in _REQUIRED if name not in table]
    for name, value in table.items():
        types = _TYPES.get(name)
        if types and (not isinstance(value, types) or (bool not in types and isinstance(value, bool))):
            problems.append(f"{name} = {value!r} is not of type {' or '.join(t.__name__ for t in types)}")
    if problems:
        return problems
    kind = KINDS.get(table["kind"])
    if kind is None:
        return [f"unknown kind {table['kind']!r}; there are {', '.join(KINDS)}"]
    problems += _choice("metric", table["metric"], kind.metrics)
    problems += _choice("unit", table["unit"], UNITS)
    problems += _choice("precision", table.get("precision", "fp32"), PRECISIONS)
    problems += _choice("category", table.get("category", kind.category), CATEGORIES)
    problems += _choice("front_end", table.get("front_end", FRONT_ENDS[0]), FRONT_ENDS)
    if "front_end" in table and not kind.whole_model:
        problems.append(f"front_end is for whole models; kind {kind.name} has none")
    if not problems and UNITS[table["unit"]].dimension not in kind.metrics[table["metric"]]:
        fitting = [name for name, unit in UNITS.items() if unit.dimension in kind.metrics[table["metric"]]]
        problems.append(
            f"metric {table['metric']} is not given in {table['unit']}; use one of {', '.join(fitting)}"
        )
    if table.get("blind") and table.get("fit"):
        problems.append("blind and fit: a row that constants are fitted to is not a blind test")
    if not table["published"] > 0 and table["metric"] != "fits":
        problems.append(f"published = {table['published']} must be above 0")
    return problems + _parameter_problems(kind, table["parameters"])


def _choice(name: str, value: str, allowed: Iterable[str]) -> list[str]:
    return [] if value in allowed else [f"unknown {name} {value!r}; there are {', '.join(allowed)}"]


def _parameter_problems(kind: Kind, parameters: Mapping[str, Any]) -> list[str]:
    """Unknown, missing and mistyped parameters."""
    known = kind.parameters
    if kind.open_parameters:
        return [
            f"parameter {name} is missing"
            for name, p in known.items()
            if p.required and name not in parameters
        ]
    problems = []
    for name, value in parameters.items():
        if name not in known:
            listed = ", ".join(f"{n} (needed)" if p.required else n for n, p in known.items())
            problems.append(f"kind {kind.name} has no parameter {name}; it has {listed}")
        elif not known[name].accepts(value):
            problems.append(f"parameter {name} = {value!r} is not {known[name].says}")
    for name, parameter in known.items():
        if parameter.required and name not in parameters:
            problems.append(f"kind {kind.name} needs the parameter {name} ({parameter.says})")
    return problems
