"""Compares two results: changed settings, changed figures, and the causes of the difference.

Time is compared per sample, as steps may differ in size. Differences of parts add up to the difference of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tremula.errors import Error
from tremula.formatting import ShownAsText, amount, between, duration, energy, memory_size, plain, share
from tremula.step_parts import STEP_PARTS, part_title
from tremula.study.result import Result
from tremula.study.table import unequal

#: rows of a list of differences
_MOST = 10
#: figures that are shown: name, title, how it is written
FIGURES = (
    ("throughput", "samples/s", amount),
    ("step_seconds", "time per step", duration),
    ("latency_seconds", "latency", duration),
    ("tile_share", "fullest tile", share),
    ("ipu_bytes", "memory of the fullest IPU", memory_size),
    ("utilisation", "of peak", share),
    ("energy_per_sample", "energy per sample", energy),
)


@dataclass(frozen=True)
class Difference:
    """Something on both sides; `change` is b - a."""

    name: str
    a: float
    b: float

    @property
    def change(self) -> float:
        """What B has more than A."""
        return self.b - self.a

    @property
    def ratio(self) -> float | None:
        """B over A; None where A has none of it."""
        return self.b / self.a if self.a else None


@dataclass(frozen=True)
class Comparison(ShownAsText):
    """A and B. Everything that is not listed is the same."""

    a: Result
    b: Result
    #: name -> (A, B)
    settings: Mapping[str, tuple[Any, Any]]
    figures: tuple[Difference, ...]
    #: seconds per sample by part of a step; they add up to `total`
    parts: tuple[Difference, ...]
    total: Difference
    #: bytes of the fullest IPU by use; they add up to those of the IPU
    memory: tuple[Difference, ...]
    #: cycles per sample of a replica by module
    modules: tuple[Difference, ...]

    def why(self) -> list[str]:
        """The largest causes, in sentences."""
        lines = []
        for part in sorted(self.parts, key=lambda each: -abs(each.change))[:3]:
            if abs(part.change) >= 0.01 * max(self.total.a, self.total.b):
                of_all = f" ({_of_change(part.change, self.total.change)})" if self.total.change else ""
                lines.append(
                    f"{part_title(part.name, short=True)}: {_more(part, duration, ' per sample')}{of_all}"
                )
        lines += [
            f"{use.name}: {_more(use, memory_size)} on the fullest IPU"
            for use in sorted(self.memory, key=lambda each: -abs(each.change))[:2]
            if abs(use.change) >= 2**20
        ]
        return lines

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""

        def rows(differences: tuple[Difference, ...]) -> list[dict[str, Any]]:
            return [{**vars(each), "change": each.change, "ratio": each.ratio} for each in differences]

        return {
            "modelled": True,
            "a": self.a.name,
            "b": self.b.name,
            "settings": {name: list(pair) for name, pair in self.settings.items()},
            "fits": [self.a.fits, self.b.fits],
            "fit_verdict": [self.a.fits, self.b.fits],
            "fit_probability": [self.a.fit_probability, self.b.fit_probability],
            "figures": rows(self.figures),
            "seconds_per_sample": rows((self.total, *self.parts)),
            "memory_bytes": rows(self.memory),
            "module_cycles_per_sample": rows(self.modules),
            "why": self.why(),
        }

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def compare(a: Result, b: Result) -> Comparison:
    """What is different between two results."""
    for side, result in (("A", a), ("B", b)):
        if result.problem:
            raise Error(f"{side} has no figures to compare: {result.problem}")
    keys = [*a.setting, *(key for key in b.setting if key not in a.setting)]
    changed = {k: (a.setting.get(k), b.setting.get(k)) for k in keys if a.setting.get(k) != b.setting.get(k)}
    if a.training != b.training:
        changed = {"training": (a.training, b.training), **changed}
    if a.model_version != b.model_version:
        changed["version of the chip model"] = (a.model_version, b.model_version)
    total_a, total_b = _per_sample(a), _per_sample(b)
    return Comparison(
        a=a,
        b=b,
        settings=changed,
        figures=tuple(
            Difference(name, a.figures[name].value, b.figures[name].value)
            for name, _, _ in FIGURES
            if name in a.figures and name in b.figures
        ),
        parts=tuple(
            Difference(part.key, a.shares.get(part.key, 0.0) * total_a, b.shares.get(part.key, 0.0) * total_b)
            for part in STEP_PARTS
            if a.shares.get(part.key) or b.shares.get(part.key)
        ),
        total=Difference("total", total_a, total_b),
        memory=_each(a.memory, b.memory),
        modules=_each(
            {name: cycles / _samples(a) for name, cycles in a.modules.items()},
            {name: cycles / _samples(b) for name, cycles in b.modules.items()},
        ),
    )


def _per_sample(result: Result) -> float:
    """Seconds per sample of all replicas together: those of a step over its samples."""
    return result["step_seconds"].value / (_samples(result) * int(result.setting.get("replicas", 1)))


def _samples(result: Result) -> int:
    """Samples of a replica in a step."""
    accumulation = int(result.setting.get("accumulation", 1)) if result.training else 1
    return int(result.setting.get("micro_batch", 1)) * accumulation


def _each(a: Mapping[str, float], b: Mapping[str, float]) -> tuple[Difference, ...]:
    names = [*a, *(name for name in b if name not in a)]
    found = [Difference(name, float(a.get(name, 0.0)), float(b.get(name, 0.0))) for name in names]
    return tuple(sorted((each for each in found if each.a or each.b), key=lambda each: -abs(each.change)))


def _more(each: Difference, say: Callable[[float], str], per: str = "") -> str:
    return f"{say(abs(each.change))}{per} {'more' if each.change > 0 else 'less'}"


def _of_change(change: float, total: float) -> str:
    percent = 100 * change / total
    if abs(percent) >= 1000:
        return "against a difference of almost nothing"
    return f"{percent:.0f} % of the difference"


def _lines(found: Comparison) -> list[str]:
    """Text, one line after the other; all columns modelled."""
    a, b = found.a, found.b
    lines = [
        f"A: {plain(a.name, 100)}",
        f"B: {plain(b.name, 100)}",
        "All figures are modelled, not measured.",
        *filter(None, [unequal((a, b))]),
    ]
    lines += ["", "changed" if found.settings else "no setting changed"]
    lines += [
        f"  {plain(k).replace('_', ' '):<28} {_word(x):>16}  ->  {_word(y)}"
        for k, (x, y) in found.settings.items()
    ]
    lines += ["", f"{'figure':<28} {'A':>14} {'':>22} {'B':>14} {'':>22} {'B / A':>7}"]
    for difference in found.figures:
        _, title, say = next(row for row in FIGURES if row[0] == difference.name)
        pair = (a[difference.name], b[difference.name])
        sides = (f"{say(each.value):>14} {between(each.low, each.high, say):>22}" for each in pair)
        ratio = "" if difference.ratio is None else f"{difference.ratio:.2f}"
        lines.append(f"  {title:<26} {' '.join(sides)} {ratio:>7}")
    lines.append(f"  {'fits':<26} {a.fit_words:>14} {'':>22} {b.fit_words:>14}")
    times = [(part_title(each.name, short=True), each) for each in (*found.parts, found.total)]
    uses = [(plain(each.name, 26), each) for each in found.memory]
    moved = [each for each in found.modules if abs(each.change) > 1.0][:_MOST]
    modules = [(plain(each.name or "(outside modules)", 46), each) for each in moved]
    lines += _table("time per sample", times, lambda value: duration(value) if value else "-")
    lines += _table("memory of the fullest IPU", uses, memory_size)
    if modules:
        lines += _table("cycles per sample by module", modules, lambda value: f"{value:,.0f}", 46)
    why = found.why()
    return [*lines, "", "why", *(f"  {line}" for line in why)] if why else lines


def _table(
    title: str, rows: Iterable[tuple[str, Difference]], say: Callable[[float], str], width: int = 26
) -> list[str]:
    lines = ["", f"{title:<{width + 2}} {'A':>14} {'B':>14} {'B - A':>14}"]
    for name, each in rows:
        signed = f"{each.change:+}"[0] + say(abs(each.change)) if each.change else "="
        lines.append(f"  {name:<{width}} {say(each.a):>14} {say(each.b):>14} {signed:>14}")
    return lines


def _word(value: Any) -> str:
    return "-" if value is None else plain(str(value), 40)
