"""Results in files: what `tremula estimate --save` writes, and profiles; each is checked when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

from tremula.checked_json import BadValue, decode, read_document, write_document
from tremula.errors import Error
from tremula.estimate.figures import Figure
from tremula.memory.verdict import fit_of, word_of
from tremula.profile.reader import Profile
from tremula.recording.summary import NAMES_IN_PROFILES
from tremula.step_parts import STEP_PARTS
from tremula.study.result import FIT_PROBABILITY, Result, probability_figure

FORMAT = "tremula estimate"
FORMAT_VERSION = 1
#: figures and settings that are read from profiles
_PROFILED = ("throughput", "step_seconds", "call_seconds", "latency_seconds", "cycles_per_step", "tile_bytes")
_NUMBERS = {"gradient_accumulation": "accumulation", "device_iterations": "device_iterations"}
_WORDS = ("recompute", "partials")


def save(results: Sequence[Result], path: str | Path) -> None:
    """Write `results` to `path`; the old file stays until the new one is complete."""
    write_document(path, FORMAT, FORMAT_VERSION, {"findings": [asdict(each) for each in results]})


def is_saved(path: str | Path) -> bool:
    """Whether `path` looks like a file of estimates, by its first bytes."""
    try:
        with open(path, "rb") as file:
            return FORMAT.encode() in file.read(100)
    except OSError:
        return False


def read(path: str | Path) -> list[Result]:
    """The results in a file."""
    what = "a file of saved estimates (`tremula estimate ... --save FILE` writes them)"
    results = read_document(path, FORMAT, FORMAT_VERSION, what).get("findings")
    if not isinstance(results, list) or not results:
        raise Error(f"{path} contains no estimates.")
    try:
        found = [decode(Result, each) for each in results]
        for result in found:
            _check_counts(result)
            _check_figures(result)
        return found
    except BadValue as problem:
        raise Error(f"{path} is damaged: {problem}. Save the estimate again.") from None


#: figures that every result without a problem has
_ALWAYS = ("throughput", "step_seconds", "tile_share")
#: settings that figures are divided by
_COUNTS = ("ipus", "replicas", "stages", "micro_batch", "accumulation", "device_iterations")


def _check_counts(result: Result) -> None:
    for name in _COUNTS:
        value = result.setting.get(name, 1)
        if type(value) is not int or value < 1:
            raise BadValue(f"{name} is {str(value)[:40]!r}, which is not a valid number")


def _check_figures(result: Result) -> None:
    missing = [name for name in _ALWAYS if name not in result.figures and not result.problem]
    if missing:
        raise BadValue(f"it has no figure {missing[0]}")


def read_one(name: str | PathLike[str]) -> Result:
    """One result with figures: `saved.json`, `saved.json#3` (the third of several), or a profile."""
    path, number = numbered(str(name))
    if Path(path).suffix == ".pop":
        with Profile.open(path) as profile:
            return result_of_profile(profile)
    results = read(path)
    if number:
        if not 1 <= number <= len(results):
            raise Error(f"{path} contains {len(results)} answers; there is no #{number}")
    elif len(results) > 1:
        listed = "\n".join(f"  {path}#{i}: {each.short_setting}" for i, each in enumerate(results, 1))
        raise Error(f"{path} contains {len(results)} answers; choose one:\n{listed}")
    result = results[number - 1 if number else 0]
    if result.problem:
        raise Error(f"{name} has no figures: {result.problem}")
    return result


def numbered(name: str) -> tuple[str, int | None]:
    """`file#3` as the file and 3."""
    path, _, number = name.rpartition("#")
    return (path, int(number)) if path and number.isdigit() else (name, None)


def result_of_profile(profile: Profile) -> Result:
    """The figures of an open profile."""
    target = profile.target
    figures = {name: _figure(profile, NAMES_IN_PROFILES[name]) for name in _PROFILED}
    if not profile.ipus:
        raise Error(f"{profile.path} names no IPU; write the profile again.")
    fullest = max(profile.ipus, key=lambda ipu: ipu.max_tile_bytes)
    tile = figures["tile_bytes"]
    total = fullest.total_bytes
    figures["tile_share"] = tile.scaled(1 / target.tile_memory_bytes, "of a tile")
    figures["ipu_bytes"] = tile.scaled(total / tile.value if tile.value else 0.0, "bytes")
    cycles = sum(profile.breakdown.values()) or 1.0
    known = profile.figures.get(FIT_PROBABILITY)
    # profiles of older versions have no verdict
    fit = fit_of(figures["tile_share"].value)
    figures[FIT_PROBABILITY] = probability_figure(fit) if known is None else _figure(profile, FIT_PROBABILITY)
    modules: dict[str, float] = {}
    for op in profile.ops:
        modules[op.module] = modules.get(op.module, 0.0) + op.cycles
    on_tiles = profile.tile_bytes(fullest.ipu)
    return Result(
        name=str(profile.path),
        training=_option(profile, "run", "kind") == "training",
        setting=_setting(profile),
        fits=word_of(figures[FIT_PROBABILITY].value),
        figures=figures,
        shares={part.key: profile.breakdown.get(part.key, 0.0) / cycles for part in STEP_PARTS},
        memory={use: int(tiles.sum()) for use, tiles in on_tiles.items() if tiles.sum()},
        modules=dict(sorted(modules.items(), key=lambda item: item[1], reverse=True)),
        model_version=_option(profile, "run", "version of the chip model"),
    )


def _setting(profile: Profile) -> dict[str, Any]:
    target = profile.target
    setting: dict[str, Any] = {
        "target": target.chip,
        "system": target.system,
        "ipus": target.replicas * target.ipus_per_replica,
        "replicas": target.replicas,
        "stages": target.ipus_per_replica,
        "execution": _option(profile, "deployment", "execution"),
        "micro_batch": round(_figure(profile, "samples_per_micro_batch").value),
    }
    for there, here in _NUMBERS.items():
        value = _option(profile, "loops", there)
        if not value.isdigit():
            raise Error(f"{profile.path} has the value {value[:20]!r} for {there}; write the profile again.")
        setting[here] = int(value)
    for name in _WORDS:
        setting[name] = _option(profile, "deployment", name)
    for option in profile.options:  # profiles of earlier versions do not say it
        if (option.section, option.name) == ("run", "rates to and from the host"):
            setting["host_rates"] = option.value
    return setting


def _option(profile: Profile, section: str, name: str) -> str:
    for option in profile.options:
        if (option.section, option.name) == (section, name):
            return option.value
    raise Error(f"{profile.path} has no {name} in its {section}; write the profile again.")


def _figure(profile: Profile, name: str) -> Figure:
    row = profile.figures.get(name)
    if row is None:
        raise Error(f"{profile.path} has no figure {name}; write the profile again.")
    return Figure(row.value, row.low, row.high, row.unit)
