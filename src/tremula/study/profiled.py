"""A profile as a result, so that it can be compared with others: the same figures, read from the file."""

from __future__ import annotations

from typing import Any

from tremula.errors import Error
from tremula.estimate.figures import Figure
from tremula.profile.model import Figure as Row
from tremula.profile.reader import Profile
from tremula.recording.summary import NAMES_IN_PROFILES
from tremula.step_parts import STEP_PARTS
from tremula.study.result import Result, verdict_of

_FIGURES = ("throughput", "step_seconds", "call_seconds", "latency_seconds", "cycles_per_step", "tile_bytes")
_NUMBERS = {"gradient_accumulation": "accumulation", "device_iterations": "device_iterations"}
_WORDS = ("recompute", "partials")


def result_of_profile(profile: Profile) -> Result:
    """The figures of an open profile."""
    target = profile.target
    figures = {name: _figure(profile, NAMES_IN_PROFILES[name]) for name in _FIGURES}
    if not profile.ipus:
        raise Error(f"{profile.path} names no IPU; write the profile again.")
    fullest = max(profile.ipus, key=lambda ipu: ipu.max_tile_bytes)
    tile = figures["tile_bytes"]
    total = fullest.total_bytes
    figures["tile_share"] = tile.scaled(1 / target.tile_memory_bytes, "of a tile")
    figures["ipu_bytes"] = tile.scaled(total / tile.value if tile.value else 0.0, "bytes")
    cycles = sum(profile.breakdown.values()) or 1.0
    modules: dict[str, float] = {}
    for op in profile.ops:
        modules[op.module] = modules.get(op.module, 0.0) + op.cycles
    on_tiles = profile.tile_bytes(fullest.ipu)
    return Result(
        name=str(profile.path),
        training=_option(profile, "run", "kind") == "training",
        setting=_setting(profile),
        fits=verdict_of(figures["tile_share"]),
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
            raise Error(f"{profile.path} says {value[:20]!r} for {there}; write the profile again.")
        setting[here] = int(value)
    for name in _WORDS:
        setting[name] = _option(profile, "deployment", name)
    return setting


def _option(profile: Profile, section: str, name: str) -> str:
    for option in profile.options:
        if (option.section, option.name) == (section, name):
            return option.value
    raise Error(f"{profile.path} does not say {name} of its {section}; write the profile again.")


def _figure(profile: Profile, name: str) -> Figure:
    row: Row | None = profile.figures.get(name)
    if row is None:
        raise Error(f"{profile.path} has no figure called {name}; write the profile again.")
    return Figure(row.value, row.low, row.high, row.unit)
