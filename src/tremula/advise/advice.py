"""A piece of advice: a change as lines of Python, and the estimates of the program with and without it.

The band of an effect, one on the ratio, comes from published pairs of configurations (effect_bands.toml).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from tremula.estimate.bands import Band, band, parse_bands
from tremula.formatting import ShownAsText, counted, plain, plain_values, share
from tremula.study.case import Case
from tremula.study.compare import compare
from tremula.study.result import Result

#: advice is listed from this change of throughput on
SMALLEST_EFFECT = 0.02
#: tiles that are fuller than this are close to the limit: advice that frees memory is listed too
CLOSE = 0.85
#: room on the fullest tile from which advice is listed, as a share of its memory
SMALLEST_ROOM = 0.02
#: share of the best gain of a rule that a milder change must bring to be listed instead
_NEARLY = 0.9


@dataclass(frozen=True, kw_only=True)
class Change:
    """Something that can be changed, before it is tried."""

    #: one word or two for the kind of change; of equals only the best is listed
    rule: str
    title: str
    why: str = ""
    #: lines of Python, for a program as the dialect of its front end describes it
    code: tuple[str, ...] = ()
    #: what it costs or risks
    cost: str = ""
    apply: Callable[[Case], Case] = field(default=lambda case: case, repr=False)
    #: settings that it sets: two changes go together if these are different ones
    sets: frozenset[str] = frozenset()
    #: finds the change itself, where that takes a search; `apply` is not used then
    search: Callable[[], Change] | None = field(default=None, repr=False)

    def then(self, other: Change) -> Change:
        """Both."""
        return Change(
            rule=f"{self.rule} + {other.rule}",
            title=f"{self.title}; {other.title[:1].lower()}{other.title[1:]}",
            why=f"{self.why} {other.why}",
            code=self.code + other.code,
            cost=f"{self.cost} {other.cost}",
            apply=lambda case: other.apply(self.apply(case)),
            sets=self.sets | other.sets,
        )


def edited(**parts: Mapping[str, Any]) -> Callable[[Case], Case]:
    """Gives a case other values in its variant, loops, deployment or changes."""

    def apply(case: Case) -> Case:
        new = {name: replace(getattr(case, name), **values) for name, values in parts.items()}
        before = case.loops.device_iterations
        if "loops" in new and before > 1 and case.deployment.returned_share == 1.0 / before:
            # results that went back once per call still do
            returned = 1.0 / new["loops"].device_iterations
            new["deployment"] = replace(new.get("deployment", case.deployment), returned_share=returned)
        return replace(case, **new)

    return apply


@dataclass(frozen=True, kw_only=True)
class Advice(Change, ShownAsText):
    """A change that is worth making, with its modelled effect."""

    before: Result
    after: Result
    #: published over modelled ratios of configurations that differ in one thing
    band: Band
    case: Case = field(repr=False)
    #: IPUs of the system that was asked about; 0: not known
    system_ipus: int = 0

    @property
    def effect(self) -> float:
        """Throughput after over before."""
        return self.after.throughput / self.before.throughput if self.before.throughput else float("inf")

    @property
    def effect_per_ipu(self) -> float:
        """The same for each IPU: more IPUs must bring more than they are."""
        return self.effect * self.before.ipus / self.after.ipus

    @property
    def frees(self) -> float:
        """Room that it makes on the fullest tile, as a share of the tile's memory."""
        return self.before.tile_share - self.after.tile_share

    @property
    def likely(self) -> tuple[float, float]:
        """The range in which the true effect probably lies. The band is one of gains: a loss is a gain turned round."""
        return (self.band if self.effect >= 1.0 else self.band.inverse).around(self.effect)

    @functools.cached_property
    def causes(self) -> tuple[str, ...]:
        """Where the effect comes from, as the chip model has it: the parts that change most per sample, and bytes."""
        return tuple(compare(self.before, self.after).why())

    @property
    def lacks_ipus(self) -> bool:
        """Whether the change needs more IPUs than the system has."""
        return 0 < self.system_ipus < self.after.ipus

    @property
    def headline(self) -> str:
        """The effect in a few words."""
        low, high = self.likely
        text = f"x{self.effect:.2f} throughput (x{low:.2f} to x{high:.2f})"
        if self.after.ipus > self.before.ipus:
            text += f" on x{self.after.ipus / self.before.ipus:.3g} IPUs"
        text += f", fullest tile {share(self.before.tile_share)} -> {share(self.after.tile_share)}"
        if self.before.runs != self.after.runs:
            fits = {"yes": ", then it fits", "likely": ", then it likely fits"}
            text += fits.get(self.after.fits, ", then it no longer fits")
        return text

    def lines(self) -> Iterator[str]:
        """What it is, without the code; nothing in it that a terminal acts on."""
        yield plain(self.title, 200)
        yield f"  modelled: {self.headline}"
        if self.lacks_ipus:
            had, taken = (side.setting.get("system", "") for side in (self.before, self.after))
            yield f"  needs: {counted(self.after.ipus, 'IPU')}; {had} has {self.system_ipus}. Modelled for {taken}"
        if self.causes:
            yield f"  from: {'; '.join(self.causes[:2])}"
        yield f"  why: {plain(self.why)}"
        yield f"  cost: {plain(self.cost)}"

    def __str__(self) -> str:
        return "\n".join([*self.lines(), *(f"    {plain(line)}" for line in self.code)])

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **{key: plain_values(getattr(self, key)) for key in ("rule", "title", "why", "cost", "code")},
            "before": plain_figures(self.before),
            "after": plain_figures(self.after),
            "effect": self.effect,
            "effect_low": self.likely[0],
            "effect_high": self.likely[1],
            "band_pairs": self.band.rows,
            "causes": list(self.causes),
            "lacks_ipus": self.lacks_ipus,
        }


def plain_figures(result: Result) -> dict[str, Any]:
    """The figures that advice is about, for JSON."""
    return {
        "throughput": result.throughput,
        "tile_bytes": result["tile_bytes"].value,
        "tile_share": result.tile_share,
        "fits": result.runs,
        "fit_verdict": result.fits,
        "fit_probability": result.fit_probability,
        "ipus": result.ipus,
    }


@functools.cache
def effect_band(*, more_ipus: bool) -> Band:
    """How far a ratio of throughputs may be off: of a change on the same IPUs, or of one that takes more of them."""
    if more_ipus:
        return band("scaling")  # published figures of the same program on few and on many IPUs
    text = resources.files("tremula.advise").joinpath("effect_bands.toml").read_text(encoding="utf-8")
    return parse_bands(text)["gain"]


def ranked(tried: Iterable[Advice]) -> list[Advice]:
    """What is worth listing of `tried`: what makes it fit, is faster or makes room; more IPUs come last."""
    by_rule: dict[str, list[Advice]] = {}
    for each in tried:
        if worth(each):
            by_rule.setdefault(each.rule, []).append(each)
    return sorted((_of_rule(each) for each in by_rule.values()), key=_order)


def worth(advice: Advice) -> bool:
    """Whether the effect is large enough to be listed."""
    before, after = advice.before, advice.after
    if not before.runs:
        return after.runs or advice.frees >= SMALLEST_ROOM
    if not after.runs:
        return False
    faster = advice.effect >= 1.0 + SMALLEST_EFFECT
    close = before.tile_share > CLOSE and after.ipus == before.ipus
    return faster or (close and advice.frees >= SMALLEST_ROOM)


def _order(advice: Advice) -> tuple[int, float]:
    """The smaller the earlier."""
    if not advice.before.runs:
        if advice.after.runs:
            return (1 if advice.lacks_ipus else 0), -advice.effect_per_ipu
        return 2, advice.after.tile_share
    if advice.after.ipus > advice.before.ipus:
        return (3 if advice.lacks_ipus else 2), -advice.effect_per_ipu
    if advice.effect >= 1.0 + SMALLEST_EFFECT:
        return 0, -advice.effect
    return 1, advice.after.tile_share


def _of_rule(found: list[Advice]) -> Advice:
    """The mildest that brings nearly as much as the best."""
    best = min(found, key=_order)
    gain = best.effect - 1.0
    if not best.before.runs or best.after.ipus > best.before.ipus or gain < SMALLEST_EFFECT:
        return best
    return next(each for each in found if each.effect - 1.0 >= _NEARLY * gain)
