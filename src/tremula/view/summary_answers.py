"""Answers about a report as a whole: the verdict first, then what it was modelled with."""

from __future__ import annotations

import json
from typing import Any

from tremula.errors import Error
from tremula.profile import Profile
from tremula.step_parts import BY_KEY, part_title
from tremula.view.op_answers import plain_reason
from tremula.view.op_sums import op_sums
from tremula.view.packed import LONGEST
from tremula.view.parameters import Parameters
from tremula.view.pipeline import turns
from tremula.view.text import clean
from tremula.view.verdict import fit_probability, fit_verdict, fits, short_verdict, steps, work_by_module

MOST_IPUS = 4_096
#: files that belong to a report, and characters of the JSON beside it
_SUFFIXES = (".pop", ".pvti", ".json", ".cbor", ".a", ".capnp")
_MOST_APPLICATION = 50_000
#: turns of a pipeline that are drawn after the first micro-batch has passed
_TURNS = 12


def summary_answer(profile: Profile, _: Parameters) -> dict[str, Any]:
    """Everything that is short: verdict, figures, target, options, counts, memory of each IPU; no table is walked."""
    target = profile.target
    return {
        "file": profile.path.name,
        "folder": profile.path.parent.name,
        "version": profile.version,
        "meta": {
            _short(key): _short(value)
            for key, value in profile.meta.items()
            if not key.startswith(("digest", "rows:"))
        },
        "notes": _notes(profile),
        "verdict": short_verdict(profile),
        "fits": [fits(profile), fit_verdict(profile), fit_probability(profile)],
        "advice": [[s.title, s.effect, s.cause, s.cost, list(s.code)] for s in steps(profile, 10)],
        "target": {name: _short(getattr(target, name)) for name in type(target).__dataclass_fields__},
        "figures": {
            _short(f.name): [f.value, f.unit[:40], f.low, f.high, f.band[:200]] for f in profile.figures.values()
        },
        "options": [[_short(o.section), _short(o.name), _short(o.value)] for o in profile.options],
        "graph": [[_short(c.name), c.count] for c in profile.graph],
        "breakdown": [
            [_short(name), part_title(name), cycles, BY_KEY[name].colour if name in BY_KEY else ""]
            for name, cycles in profile.breakdown.items()
        ],
        "categories": [[_short(c.name), c.always_live] for c in profile.categories],
        "ipus": [
            {
                "total": row.total_bytes,
                "always": row.always_live_bytes,
                "coming": row.not_always_live_bytes,
                "max": row.max_tile_bytes,
                "fullest": row.fullest_tile,
                "over": row.tiles_out_of_memory,
                "peakStep": row.peak_step,
                "peakOp": _short(row.peak_op),
                "peakPhase": row.peak_phase[:40],
            }
            for row in profile.ipus[:MOST_IPUS]
        ],
        "files": _files(profile),
        "application": _application(profile),
    }  # fmt: skip


def work_answer(profile: Profile, _: Parameters) -> dict[str, Any]:
    """The work of all ops: by module in a sentence, and by pass."""
    return {"verdict": work_by_module(profile), "phases": _phases(profile), "ops": len(profile.frame("ops"))}


def pipeline_answer(profile: Profile, _: Parameters) -> dict[str, Any]:
    """Stages, how the pipeline fills and drains, its first turns, and traffic beyond the chip."""
    return {
        "stages": [[s.stage, s.ipu, _short(s.phases), s.forward_cycles, s.recompute_cycles, s.backward_cycles,
                    s.copied_bytes] for s in profile.stages[:1000]],
        "phases": [[_short(p.phase), p.ipu, p.stage, p.turns, p.active_turns, p.elapsed_cycles, p.busy_cycles]
                   for p in profile.pipeline_phases[:3000]],
        "turns": [[t.start, t.cycles, [[w.ipu, w.stage, w.micro_batch, w.start, w.cycles] for w in t.work]]
                  for t in turns(profile, min(60, len(profile.stages) + _TURNS))],
        "transfers": [[_short(t.name), _short(t.kind), t.cycles, t.bytes, plain_reason(profile.reason(t))]
                      for t in profile.transfers[:200]],
    }  # fmt: skip


def _notes(profile: Profile) -> list[str]:
    found = [
        f"{value} rows of {key[9:]} are not in the file"[:LONGEST]
        for key, value in profile.meta.items()
        if key.startswith("left_out:")
    ]
    if "merged_ops" in profile.meta:
        found.append(f"ops were merged: {profile.meta['merged_ops']}"[:LONGEST])
    return found


def _files(profile: Profile) -> list[list[Any]]:
    """Files of the report that are there, with their sizes."""
    try:
        found = sorted(
            path for path in profile.path.parent.iterdir() if path.suffix in _SUFFIXES and path.is_file()
        )
        return [[path.name[:LONGEST], path.stat().st_size] for path in found[:50]]
    except OSError:
        return []


def _application(profile: Profile) -> dict[str, Any]:
    """What framework and application say; a note if their files cannot be read."""
    try:
        found = profile.application
    except Error as problem:
        return {"note": clean(problem.message, LONGEST)}
    if len(json.dumps(found)) > _MOST_APPLICATION:
        return {"note": "framework.json and app.json are too large for a page"}
    return found


def _phases(profile: Profile) -> list[list[Any]]:
    """Work by pass: compute, exchange, sync, ops."""
    return [
        [each.texts[0][:40], each.compute, each.exchange, each.sync, each.ops]
        for each in op_sums(profile, "phase")[:20]
    ]


def _short(value: Any) -> Any:
    return value[:LONGEST] if isinstance(value, str) else value
