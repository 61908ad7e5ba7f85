"""Why a program is slow or does not fit, in sentences, and what to change: from the figures of its profile."""

from __future__ import annotations

from dataclasses import dataclass

from tremula.formatting import counted, duration
from tremula.module_paths import first_parts
from tremula.profile import Profile
from tremula.profile.model import Advice
from tremula.step_parts import part_title
from tremula.view.op_sums import op_sums
from tremula.view.text import clean, share

#: pieces of advice, and parts of a whole, that are named
_ADVICE = 3
_PARTS = 3
#: a part below this share is not named
_LEAST = 0.05


@dataclass(frozen=True)
class Step:
    """A change with its predicted effect, in words."""

    title: str
    effect: str
    cause: str
    cost: str
    code: tuple[str, ...]


def verdict(profile: Profile) -> list[str]:
    """Whether it fits and what takes the room, and what takes the time."""
    return [*short_verdict(profile), *work_by_module(profile)]


def short_verdict(profile: Profile) -> list[str]:
    """The same without what needs all ops: of a large profile, reading them takes a while."""
    return [*_memory(profile), *_time(profile)]


def steps(profile: Profile, most: int = _ADVICE) -> list[Step]:
    """What to change, best first."""
    used = profile.target.replicas * profile.target.ipus_per_replica
    return [_step(each, used, profile.lines(each)) for each in profile.advice[:most]]


def _step(advice: Advice, ipus: int, code: list[str]) -> Step:
    effect = f"x{advice.effect:.2f} throughput (x{advice.low:.2f} to x{advice.high:.2f}), modelled"
    if advice.ipus > ipus:
        effect += f", on {counted(advice.ipus, 'IPU')}"
    effect += f"; fullest tile {share(advice.tile_share, 1.0)}, fits: {clean(advice.fits, 20)}"
    title, cause, cost = (clean(each, 400) for each in (advice.title, advice.cause, advice.cost))
    return Step(title, effect, cause, cost, tuple(clean(line, 400) for line in code))


def _memory(profile: Profile) -> list[str]:
    tile, room = profile.figures.get("max_tile_bytes"), profile.target.tile_memory_bytes
    if tile is None or not profile.ipus:
        return []
    full = max(profile.ipus, key=lambda ipu: ipu.max_tile_bytes)
    said = {"yes": "It fits", "likely": "It likely fits", "unlikely": "It probably does not fit"}.get(
        fit_verdict(profile), "It does not fit"
    )
    known = _option(profile, "evidence of the fit")
    sure = sureness(profile)
    evidence = f" Evidence: {known}." if known else ""
    if fits(profile):
        return [f"{said}{sure}: the fullest tile needs {share(tile.value, room)} of its memory.{evidence}"]
    sizes = {name: float(values.sum()) for name, values in profile.tile_bytes(full.ipu).items()}
    sure = sure.replace("(", "(probability of fitting: ")
    return [
        f"{said}{sure}: the fullest tile of IPU {full.ipu} needs {share(tile.value, room)} of its memory, at "
        f"{clean(full.peak_op, 80)} of the {clean(full.peak_phase, 40)} pass. Most bytes there: {_largest(sizes)}."
        f"{evidence}"
    ]


def fit_verdict(profile: Profile) -> str:
    """Whether it fits: yes, likely, unlikely or no; in profiles of older versions, by the bytes on the fullest tile."""
    tile = profile.figures.get("max_tile_bytes")
    by_size = (
        "" if tile is None else "likely" if tile.value <= profile.target.tile_memory_bytes else "unlikely"
    )
    return _option(profile, "fits") or by_size


def fits(profile: Profile) -> bool:
    """Whether it fits more probably than not."""
    return fit_verdict(profile) in ("yes", "likely")


def fit_probability(profile: Profile) -> float | None:
    """The probability that it fits; profiles of older versions have none."""
    known = profile.figures.get("fit_probability")
    return None if known is None else known.value


def sureness(profile: Profile) -> str:
    """The probability that it fits, in brackets; empty where it is not known."""
    known = fit_probability(profile)
    return "" if known is None else f" ({100 * min(1.0, max(0.0, known)):.0f} %)"


def _option(profile: Profile, name: str) -> str:
    found = (each.value for each in profile.options if (each.section, each.name) == ("run", name))
    return clean(next(found, ""), 200)


def _time(profile: Profile) -> list[str]:
    seconds, parts = profile.figures.get("seconds_per_step"), profile.breakdown
    if seconds is None or not any(parts.values()):
        return []
    largest = _largest({part_title(k): v for k, v in parts.items()})
    return [f"A step takes {duration(seconds.value)}: {largest}."]


def work_by_module(profile: Profile) -> list[str]:
    """The modules that the work of ops belongs to; nothing if there is one at most, or the time is not known."""
    if not _time(profile):
        return []
    modules: dict[str, float] = {}
    for each in op_sums(profile, "module"):
        name = first_parts(each.texts[0], 1) or "outside modules"
        modules[name] = modules.get(name, 0.0) + each.cycles
    return [f"Of the work of all ops: {_largest(modules)}."] if len(modules) > 1 else []


def _largest(sizes: dict[str, float]) -> str:
    """The largest parts of a whole with their shares."""
    total = sum(sizes.values())
    ranked = sorted(sizes.items(), key=lambda item: -item[1])[:_PARTS]
    return (
        ", ".join(f"{clean(n, 60)} {share(v, total)}" for n, v in ranked if v >= _LEAST * total) or "nothing"
    )
