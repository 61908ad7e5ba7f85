"""What the page shows, as plain JSON: everything of a small profile, less of a large one.

A page is meant to be mailed and opened, so its size is bounded: tiles and program steps are grouped with the
largest of each group kept, ops beyond the largest are left to the command line, and so are the reasons of small
ones. What was left out is said on the page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.module_paths import parts
from tremula.profile import Profile
from tremula.profile.model import Op
from tremula.profile.reader import children
from tremula.profile.reasons import Reason
from tremula.step_parts import HOST_PARTS, STEP_PARTS, part_title
from tremula.view.pipeline import turns
from tremula.view.verdict import fit_probability, fit_verdict, fits, steps, verdict

#: what a page keeps
MOST_OPS = 5_000
MOST_MODULES = 1_500
MOST_NODES = 3_000
MOST_IPUS = 64
_POINTS = 600
_MAX_NAME = 300
_REASON_CHARACTERS = 500_000
_TILE_NUMBERS = 120_000
_LIFETIMES = 40
_CONTRIBUTORS = 30
#: turns of a pipeline that are drawn after the first micro-batch has passed
_TURNS = 12


def page_data(profile: Profile) -> dict[str, Any]:
    """All that the page needs."""
    ranked = sorted(profile.ops, key=lambda op: -op.cycles)
    shown = sorted(ranked[:MOST_OPS], key=lambda op: op.id)
    notes = [f"{value} rows of {key[9:]} are not in the file" for key, value in profile.meta.items()
             if key.startswith("left_out:")]  # fmt: skip
    if len(ranked) > len(shown):
        notes.append(f"the table of ops shows the largest {len(shown):,} of {len(ranked):,}")
    if "merged_ops" in profile.meta:
        notes.append(f"ops were merged: {profile.meta['merged_ops']}")
    target = profile.target
    return {
        "file": profile.path.name,
        "version": profile.version,
        "meta": {
            key: value[:_MAX_NAME]
            for key, value in profile.meta.items()
            if not key.startswith(("digest", "rows:"))
        },
        "notes": notes,
        "verdict": verdict(profile),
        "fits": [fits(profile), fit_verdict(profile), fit_probability(profile)],
        "advice": [[s.title, s.effect, s.cause, s.cost, list(s.code)] for s in steps(profile)],
        "part_colours": {part.key: part.colour for part in STEP_PARTS},
        "target": {name: _short(getattr(target, name)) for name in type(target).__dataclass_fields__},
        "figures": {
            f.name[:_MAX_NAME]: [f.value, f.unit[:40], f.low, f.high, f.band[:200]] for f in profile.figures.values()
        },
        "options": [[_short(o.section), _short(o.name), _short(o.value)] for o in profile.options],
        "graph": [[_short(c.name), c.count] for c in profile.graph],
        "breakdown": [[_short(name), cycles] for name, cycles in profile.breakdown.items()],
        "categories": [[_short(c.name), c.always_live] for c in profile.categories],
        "ipus": [_ipu(profile, number) for number in range(min(MOST_IPUS, len(profile.ipus)))],
        "modules": _modules(profile),
        "ops": _ops(shown),
        "plans": _plans(profile, ranked[:MOST_OPS]),
        "phases": _phases(profile.ops),
        "stages": [[s.stage, s.ipu, s.phases, s.forward_cycles, s.recompute_cycles, s.backward_cycles, s.copied_bytes]
                   for s in profile.stages[:1000]],
        "pipeline": [[p.phase, p.ipu, p.stage, p.turns, p.active_turns, p.elapsed_cycles, p.busy_cycles]
                     for p in profile.pipeline_phases[:3000]],
        "turns": [[t.start, t.cycles, [[w.ipu, w.stage, w.micro_batch, w.start, w.cycles] for w in t.work]]
                  for t in turns(profile, min(60, len(profile.stages) + _TURNS))],
        "transfers": [[_short(t.name), t.kind, t.cycles, t.bytes, _plain(profile.reason(t))]
                      for t in profile.transfers[:200]],
        "program": _program(profile),
    }  # fmt: skip


def _short(value: Any) -> Any:
    return value[:_MAX_NAME] if isinstance(value, str) else value


def _ipu(profile: Profile, number: int) -> dict[str, Any]:
    row = profile.ipus[number]
    on_tiles = profile.tile_bytes(number)
    each = max(1, _TILE_NUMBERS // max(1, len(profile.ipus) * len(on_tiles)))
    group = -(-profile.target.tiles_per_ipu // min(each, 1_600))
    names = {category.name: category.id for category in profile.categories}
    live, temporary = profile.live_bytes(number)
    steps = max(1, -(-len(live) // _POINTS))
    return {
        "total": row.total_bytes,
        "always": row.always_live_bytes,
        "coming": row.not_always_live_bytes,
        "max": row.max_tile_bytes,
        "fullest": row.fullest_tile,
        "over": row.tiles_out_of_memory,
        "peakStep": row.peak_step,
        "peakOp": _short(row.peak_op),
        "peakPhase": row.peak_phase[:40],
        "tileGroup": group,
        "tiles": [[names[name], _differences(_grouped(values, group))] for name, values in on_tiles.items()],
        "stepGroup": steps,
        "steps": len(live),
        "live": _differences(_grouped(live, steps)),
        "temporary": _differences(_grouped(temporary, steps)),
        "contributors": [
            [c.category_id, _short(c.name), c.bytes] for c in profile.contributors if c.ipu == number
        ][:_CONTRIBUTORS],
        "lifetimes": _lifetimes(profile, number),
    }


def _lifetimes(profile: Profile, ipu: int) -> list[list[Any]]:
    """The largest tensors that are alive at the fullest moment, then the largest others."""
    at = profile.ipus[ipu].peak_step
    mine = [t for t in profile.lifetimes if t.ipu == ipu]
    mine.sort(key=lambda t: -t.bytes)
    alive = [t for t in mine if t.first_step <= at <= t.last_step][:_LIFETIMES]
    others = [t for t in mine if not t.first_step <= at <= t.last_step][: _LIFETIMES // 2]
    return [[_short(t.name), _short(t.module), t.bytes, t.first_step, t.last_step] for t in (*alive, *others)]


def _grouped(values: NDArray[np.int64], group: int) -> NDArray[np.int64]:
    """The largest of every `group` values."""
    if group == 1 or not len(values):
        return values
    padded = np.pad(values, (0, -len(values) % group), mode="edge")
    largest: NDArray[np.int64] = padded.reshape(-1, group).max(axis=1)
    return largest


def _differences(values: NDArray[np.int64]) -> list[int]:
    """First the first value, then how each differs from the one before: short numbers."""
    return [int(v) for v in np.diff(values, prepend=0)] if len(values) else []


def _modules(profile: Profile) -> list[list[Any]]:
    """The tree of modules: name, parent, cycles of forward, backward and the rest, ops; parents first.

    What the host takes of a step stands beside the modules.
    """
    totals: dict[tuple[str, ...], list[float]] = {}
    for op in profile.ops:
        path = tuple(parts(op.module[:_MAX_NAME])[:20]) if op.module else ("(outside modules)",)
        column = {"forward": 0, "backward": 1}.get(op.phase, 2)
        for depth in range(len(path) + 1):
            total = totals.setdefault(path[:depth], [0.0, 0.0, 0.0, 0])
            total[column] += op.cycles
            total[3] += op.merged
    for key in HOST_PARTS if totals else ():
        cycles = profile.breakdown.get(key, 0.0)
        if cycles:
            totals[(f"({part_title(key)})",)] = [0.0, 0.0, cycles, 0]
            totals[()][2] += cycles
    ranked = sorted(totals.items(), key=lambda item: -sum(item[1][:3]))
    kept = {path for path, _ in ranked[:MOST_MODULES]}
    # parents have at least the cycles of their children, but may come later among equals
    kept |= {path[:depth] for path in list(kept) for depth in range(len(path))}
    order = {path: number for number, path in enumerate(totals)}  # as the program has them
    listed = sorted(kept, key=lambda path: (len(path), order[path]))
    numbers = {path: number for number, path in enumerate(listed)}
    return [
        [path[-1] if path else "", numbers[path[:-1]] if path else -1, *(round(v, 1) for v in totals[path])]
        for path in listed
    ]


def _ops(ops: Sequence[Op]) -> dict[str, Any]:
    """Columns, with texts by number."""
    texts: dict[str, int] = {}

    def text(value: str) -> int:
        return texts.setdefault(value[:_MAX_NAME], len(texts))

    columns = {
        "name": [op.name[:_MAX_NAME] for op in ops],
        "target": [text(op.target) for op in ops],
        "phase": [text(op.phase) for op in ops],
        "module": [text(op.module) for op in ops],
        "source": [text(op.source) for op in ops],
        "function": [text(op.source_function) for op in ops],
        "compute": [round(op.compute_cycles) for op in ops],
        "exchange": [round(op.exchange_cycles) for op in ops],
        "sync": [round(op.sync_cycles) for op in ops],
        "flops": [round(op.flops) for op in ops],
    }
    plain = {
        name: [getattr(op, name) for op in ops]
        for name in ("ipu", "stage", "runs", "temporary_bytes", "unknown", "plan_id")
    }
    return {**columns, **plain, "texts": list(texts)}


def _plans(profile: Profile, ranked: Sequence[Op]) -> dict[str, Any]:
    """Reasons and supersteps of the plans of the largest ops, as many as have room."""
    found: dict[str, Any] = {}
    room = _REASON_CHARACTERS
    for op in ranked:
        key = str(op.plan_id)
        if op.plan_id < 0 or key in found:
            continue
        steps = [
            [s.name[:80], s.repeats, s.slowest_tile_cycles, s.mean_tile_cycles, s.exchange_cycles, s.sync_cycles,
             s.active_tiles, s.idle_tiles]
            for s in profile.supersteps.get(op.plan_id, ())[:40]
        ]  # fmt: skip
        entry = {"why": _plain(profile.reason(profile.plans[op.plan_id])), "steps": steps}
        room -= len(json.dumps(entry))
        if room < 0:
            break
        found[key] = entry
    return found


def _plain(reason: Reason) -> dict[str, Any]:
    return {
        "plan": reason.plan[:600],
        "formula": reason.formula[:600],
        "source": reason.source[:600],
        "figures": [[name[:100], value] for name, value in reason.figures.items()],
        "rejected": [[a.plan[:300], a.cycles, a.reason[:300]] for a in reason.alternatives[:5]],
        "parts": [_plain(part) for part in reason.parts[:10]],
    }


def _phases(ops: Sequence[Op]) -> list[list[Any]]:
    found: dict[str, list[Any]] = {}
    for op in ops:
        row = found.setdefault(op.phase[:40], [op.phase[:40], 0.0, 0.0, 0.0, 0])
        for column, value in enumerate((op.compute_cycles, op.exchange_cycles, op.sync_cycles), 1):
            row[column] += value
        row[4] += op.merged
    return list(found.values())[:20]


def _program(profile: Profile) -> list[list[Any]]:
    """The program tree; below stages, the ops with most cycles."""
    rows = profile.programs
    if not rows:
        return []
    below = children(rows)
    kept: list[list[Any]] = []
    queue: list[tuple[int, int]] = [(0, -1)]
    while queue and len(kept) < MOST_NODES:
        number, parent = queue.pop(0)
        row = rows[number]
        kept.append([parent, row.kind[:40], _short(row.name), row.repeats, row.cycles, len(below[number])])
        ranked = (
            sorted(below[number], key=lambda each: -rows[each].cycles)
            if row.kind != "step"
            else below[number]
        )
        queue += [(each, len(kept) - 1) for each in ranked[:60]]
    return kept
