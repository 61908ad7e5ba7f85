"""Details as text: one op with its plan and reasons, one tile with its uses, the list of ops.

All figures are the profile's, modelled; names go through `clean`, as a profile is not trusted.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from tremula.errors import Error
from tremula.profile import Profile
from tremula.profile.model import Op
from tremula.view.text import clean, count, share


def op_text(profile: Profile, name: str) -> str:
    """Everything about the ops called `name`; raises Error if there is none."""
    found = [op for op in profile.ops if name in (op.name, op.name.rpartition("/")[2])]
    if not found:
        known = {known for op in profile.ops for known in (op.name, op.name.rpartition("/")[2])}
        near = difflib.get_close_matches(name[:200], sorted(known), 3)
        hint = f" Did you mean {', '.join(clean(each) for each in near)}?" if near else ""
        raise Error(f"The profile has no op {clean(name)!r}.{hint}", type="profile_error")
    return "\n".join(line for op in found for line in _op_lines(profile, op))


def _op_lines(profile: Profile, op: Op) -> Iterator[str]:
    yield f"{clean(op.name)} ({clean(op.target)})"
    yield f"  {clean(op.phase)} pass, IPU {op.ipu}, stage {op.stage}, module {clean(op.module) or '-'}"
    if op.source:
        yield f"  {clean(op.source)} in {clean(op.source_function)}"
    yield (
        f"  modelled: {count(op.cycles)} cycles per step in {op.runs:,} runs (compute {count(op.compute_cycles)}, "
        f"exchange {count(op.exchange_cycles)}, sync {count(op.sync_cycles)}), {op.temporary_bytes:,} bytes of "
        "temporaries on the fullest tile"
    )
    if op.unknown:
        yield "  costed by the fallback: no planner knows this op"
    if op.plan_id < 0:
        return
    for line in profile.reason(profile.plans[op.plan_id]).lines(1):
        stripped = line.lstrip(" ")
        yield " " * (len(line) - len(stripped) + 2) + clean(stripped, 400)
    for step in profile.supersteps.get(op.plan_id, ()):
        yield (
            f"    superstep {clean(step.name, 40)} x {step.repeats:,}: {count(step.cycles)} cycles; "
            f"{step.active_tiles:,} tiles compute ({count(step.mean_tile_cycles)} cycles the mean one, "
            f"{count(step.slowest_tile_cycles)} the slowest), {step.idle_tiles:,} wait"
        )


def tile_text(profile: Profile, tile: int) -> str:
    """The uses of one tile, counted over all IPUs of a replica; raises Error if there is no such tile."""
    tiles = profile.target.tiles_per_ipu
    ipu, position = divmod(tile, tiles)
    if tile < 0 or ipu >= len(profile.ipus):
        raise Error(
            f"There is no tile {tile}: the profile has tiles 0 to {max(0, tiles * len(profile.ipus) - 1):,}.",
            type="profile_error",
        )
    uses = {name: int(values[position]) for name, values in profile.tile_bytes(ipu).items()}
    total = sum(uses.values())
    room = profile.target.tile_memory_bytes
    lines = [f"Tile # {tile} memory usage (modelled; tile {position} of IPU {ipu}):"]
    lines += [f"  {clean(name) + ':':<28} {count(size):>10} B" for name, size in uses.items() if size]
    lines.append(
        f"  {'total, gaps included:':<28} {count(total):>10} B ({share(total, room)} of {count(room)} B)"
    )
    return "\n".join(lines)


def ops_text(profile: Profile, listed: int) -> str:
    """The `listed` ops with most cycles, one line each."""
    total = sum(op.cycles for op in profile.ops)
    lines = [f"{'modelled cycles':>18} {'share':>7} {'runs':>7}  {'phase':<10} {'IPU':>3}  op"]
    lines += [
        f"{count(op.cycles):>18} {share(op.cycles, total):>7} {op.runs:>7,}  {clean(op.phase, 10):<10} "
        f"{op.ipu:>3}  {clean(op.name)}  {clean(op.source, 80)}".rstrip()
        for op in sorted(profile.ops, key=lambda op: -op.cycles)[:listed]
    ]
    return "\n".join(lines)
