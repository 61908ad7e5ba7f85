"""Hardware files: TOML with a source beside every number, checked field by field before anything is made of it.

A file says what it describes (`kind`), under which `name`, as of which `date`; every other field is a table
`{ value = ..., source = "..." }`, without `value` where the number is not published. With `based_on` it
takes all that it does not say from another file. Reading a file executes nothing.
"""

from __future__ import annotations

import dataclasses
import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tremula.errors import Error
from tremula.hardware.chip import Chip
from tremula.hardware.machine import Machine
from tremula.hardware.system import TOPOLOGIES, System

KINDS: dict[str, type[Chip] | type[Machine] | type[System]] = {
    "chip": Chip,
    "machine": Machine,
    "system": System,
}
#: fields that are words without a source
_WORDS = {
    "chip": ("name", "title", "date", "based_on", "architecture"),
    "machine": ("name", "title", "date", "based_on", "chip"),
    "system": ("name", "title", "date", "based_on", "machine", "topology"),
}
#: no hardware has more of anything; also keeps infinity out
_LARGEST = 1e30
_CHOICES = {"architecture": ("ipu1", "ipu2", "ipu21"), "topology": TOPOLOGIES}


@dataclass(frozen=True)
class Entry:
    """What one file says, checked; `values` lacks what a base is to give."""

    kind: str
    origin: str
    values: Mapping[str, Any]
    sources: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name of what the file describes."""
        return str(self.values["name"])

    @property
    def based_on(self) -> str:
        """The name of the file that gives the rest; empty if there is none."""
        return str(self.values.get("based_on", ""))


def parse(text: str, origin: str) -> Entry:
    """Check the text of a file.

    Raises Error if the text is not such a file; the message names `origin`, the field and what to do.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise Error(f"The hardware file {origin} is not valid TOML: {problem}. Correct it there.") from None
    kind = raw.pop("kind", None)
    if kind not in KINDS:
        raise _error(
            origin, "kind", f'is {kind!r}; say what the file describes: kind = "chip", "machine" or "system"'
        )
    fields = {field.name: str(field.type) for field in dataclasses.fields(KINDS[kind])}
    for name in raw:
        if name not in fields:
            import difflib  # only needed on the way to an error

            near = difflib.get_close_matches(name, fields, 1)
            hint = f"perhaps {near[0]} is meant" if near else f"a {kind} has: {', '.join(sorted(fields))}"
            raise _error(origin, name, f"is not a field of a {kind}; {hint}")
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for name, given in raw.items():
        if name in _WORDS[kind]:
            values[name] = _word(name, given, origin)
        else:
            values[name], sources[name] = _number(name, given, fields[name], origin)
    _check_complete(kind, values, fields, origin)
    return Entry(kind, origin, values, sources)


def _check_complete(kind: str, values: Mapping[str, Any], fields: Mapping[str, str], origin: str) -> None:
    based = bool(values.get("based_on"))
    if based:
        needed = ["name", "date"]
    else:  # what has a default is known of few machines
        missing = dataclasses.MISSING
        needed = [field.name for field in dataclasses.fields(KINDS[kind]) if field.default is missing]
    for name in needed:
        if name not in values:
            how = '= "..."' if name in _WORDS[kind] else '= { value = ..., source = "..." }'
            advice = "" if based else "; or name a file that gives the rest with based_on"
            raise _error(origin, name, f"is missing; add {name} {how}{advice}")


def _word(name: str, given: object, origin: str) -> str:
    if not isinstance(given, str) or not given.strip():
        raise _error(origin, name, f"is {given!r}; it takes a text in quotes")
    if name == "date":
        try:
            datetime.date.fromisoformat(given)
        except ValueError:
            raise _error(origin, name, f'is {given!r}; write year-month-day, as in "2026-11-16"') from None
    if name in _CHOICES and given not in _CHOICES[name]:
        raise _error(origin, name, f"is {given!r}; it takes one of: {', '.join(_CHOICES[name])}")
    return given


def _number(name: str, given: object, annotation: str, origin: str) -> tuple[float | int | None, str]:
    if not isinstance(given, dict):
        raise _error(
            origin,
            name,
            f'has no source; write {name} = {{ value = {given!r}, source = "where it is from" }}',
        )
    unknown = set(given) - {"value", "source"}
    if unknown:
        raise _error(origin, name, f"has {sorted(unknown)[0]!r}; a number has only a value and a source")
    source = given.get("source")
    if not isinstance(source, str) or not source.strip():
        raise _error(origin, name, "has no source; say in source = ... where the number comes from")
    if "value" not in given:
        if "None" not in annotation:
            raise _error(origin, name, "has no value, and the model cannot do without one; add value = ...")
        return None, source
    value = given["value"]
    whole = annotation.startswith("int")
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise _error(origin, name, f"is {value!r}; it takes a {'whole number' if whole else 'number'}")
    if not 0 < value < _LARGEST:  # nan is neither
        raise _error(
            origin, name, f"is {value!r}; it takes a number above zero (leave value out if nobody knows it)"
        )
    return value if whole else float(value), source


def _error(origin: str, field: str, problem: str) -> Error:
    return Error(f"The hardware file {origin}: {field} {problem}.")
