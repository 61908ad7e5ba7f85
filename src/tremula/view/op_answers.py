"""Answers about time: the modules that the work belongs to, and why an op costs what it does."""

from __future__ import annotations

from typing import Any

from tremula.errors import Error
from tremula.module_paths import parts
from tremula.profile import Profile
from tremula.profile.reasons import Reason
from tremula.step_parts import HOST_PARTS, part_title
from tremula.view.op_sums import op_sums
from tremula.view.packed import LONGEST
from tremula.view.parameters import Parameters

MOST_MODULES = 1_500
_DEEPEST = 20


def modules_answer(profile: Profile, _: Parameters) -> dict[str, Any]:
    """The tree of modules: name, parent, cycles of forward, backward and the rest, ops; parents first.

    What the host takes of a step stands beside the modules.
    """
    totals: dict[tuple[str, ...], list[float]] = {}
    for each in op_sums(profile, "module", "phase"):
        module, phase = each.texts
        path = tuple(parts(module[:LONGEST])[:_DEEPEST]) if module else ("(outside modules)",)
        column = {"forward": 0, "backward": 1}.get(phase, 2)
        for depth in range(len(path) + 1):
            total = totals.setdefault(path[:depth], [0.0, 0.0, 0.0, 0])
            total[column] += each.cycles
            total[3] += each.ops
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
    return {
        "modules": [
            [
                path[-1] if path else "",
                numbers[path[:-1]] if path else -1,
                *(round(v, 1) for v in totals[path]),
            ]
            for path in listed
        ]
    }


def reason_answer(profile: Profile, params: Parameters) -> dict[str, Any]:
    """Why a plan costs what it does, and its supersteps."""
    number = params.integer("plan")
    if number >= len(profile.plans):
        raise Error(f"There is no plan {number:,}.", type="view_error")
    plan = profile.plans[number]
    steps = [
        [s.name[:80], s.repeats, s.slowest_tile_cycles, s.mean_tile_cycles, s.exchange_cycles, s.sync_cycles,
         s.active_tiles, s.idle_tiles, s.flops]
        for s in profile.supersteps.get(number, ())[:40]
    ]  # fmt: skip
    return {
        "why": plain_reason(profile.reason(plan)),
        "steps": steps,
        "cycles": plan.cycles,
        "temporary": plan.temporary_bytes,
        "code": [
            ["vertex code", plan.vertex_code_bytes],
            ["vertex state", plan.vertex_state_bytes],
            ["exchange code", plan.exchange_code_bytes],
            ["control code", plan.control_code_bytes],
        ],
    }


def plain_reason(reason: Reason) -> dict[str, Any]:
    """A reason as JSON of a bounded size."""
    return {
        "plan": reason.plan[:600],
        "formula": reason.formula[:600],
        "source": reason.source[:600],
        "figures": [[name[:100], value] for name, value in reason.figures.items()],
        "rejected": [[a.plan[:300], a.cycles, a.reason[:300]] for a in reason.alternatives[:5]],
        "parts": [plain_reason(part) for part in reason.parts[:10]],
    }
