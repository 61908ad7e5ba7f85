"""A profile for speedscope.app: the module tree with the cycles of every op, one profile for each IPU.

Each sample is a stack: module by module, the op, then compute, exchange or sync. Weights are modelled microseconds
of a step, all runs of the op together, so the order of samples is that of the program and widths add up to the work
of the IPU. Speedscope's "left heavy" order merges equal stacks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from tremula.module_paths import parts
from tremula.profile import Profile
from tremula.profile.model import Op
from tremula.view.text import clean

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
#: samples of a file; ops beyond it are left out, the smallest first
MOST_SAMPLES = 200_000
_LONGEST_NAME = 200
_PARTS = (("compute", "compute_cycles"), ("exchange", "exchange_cycles"), ("sync", "sync_cycles"))


def write_speedscope(profile: Profile, file: TextIO) -> int:
    """Write the file; gives the number of samples."""
    ops = profile.ops
    if len(_PARTS) * len(ops) > MOST_SAMPLES:
        largest = sorted(ops, key=lambda op: -op.cycles)[: MOST_SAMPLES // len(_PARTS)]
        ops = tuple(sorted(largest, key=lambda op: op.id))
    frames: dict[tuple[str, str, int], int] = {}
    profiles = []
    count = 0
    for ipu in sorted({op.ipu for op in ops}):
        made = _profile(profile, [op for op in ops if op.ipu == ipu], ipu, frames)
        count += len(made["samples"])
        profiles.append(made)
    left = len(profile.ops) - len(ops)
    name = f"{clean(profile.path.parent.name, 80)}: modelled, not measured"
    document = {
        "$schema": _SCHEMA,
        "exporter": "tremula",
        "name": f"{name}; the {left:,} smallest ops are left out" if left else name,
        "activeProfileIndex": 0,
        "shared": {"frames": [_frame(*key) for key in frames]},
        "profiles": profiles,
    }
    json.dump(document, file, separators=(",", ":"), allow_nan=False)
    return count


def _profile(
    profile: Profile, ops: list[Op], ipu: int, frames: dict[tuple[str, str, int], int]
) -> dict[str, Any]:
    to_us = 1e6 / profile.target.clock_hz
    samples: list[list[int]] = []
    weights: list[float] = []
    for op in ops:
        stack = [frames.setdefault(each, len(frames)) for each in _stack(op)]
        for part, column in _PARTS:
            cycles = max(0.0, getattr(op, column))
            if cycles:
                samples.append([*stack, frames.setdefault((part, "", -1), len(frames))])
                weights.append(round(cycles * to_us, 6))
    return {
        "type": "sampled",
        "name": f"IPU {ipu}: work of a step (modelled)",
        "unit": "microseconds",
        "startValue": 0,
        "endValue": round(sum(weights), 6),
        "samples": samples,
        "weights": weights,
    }


def _stack(op: Op) -> Iterator[tuple[str, str, int]]:
    yield op.phase, "", -1
    for name in parts(op.module):
        yield name, "", -1
    yield op.name.rpartition("/")[2] or op.target, op.source_file, op.source_line


def _frame(name: str, file: str, line: int) -> dict[str, Any]:
    found: dict[str, Any] = {"name": clean(name, _LONGEST_NAME) or "(no name)"}
    if file:
        found["file"] = clean(file, _LONGEST_NAME)
        if line >= 0:
            found["line"] = line
    return found
