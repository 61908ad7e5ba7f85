"""Element-wise work: elements spread over all tiles, one pass of a vertex on each.

Operands of one shape are taken to lie on the same tiles, as PopLibs lays an output out like its first operand;
a `Copy` models the opposite. An operand that is repeated is sent to the tiles that need it. Operations joined by
'+' become one generated vertex, as popops::map makes. Bandwidths of hand-written loops are at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tremula.hardware.chip import Chip
from tremula.plan import elementwise_table as table
from tremula.plan import elementwise_vertices as vertices
from tremula.plan.codelets import compute_set_bytes
from tremula.plan.cost import Bytes, Cost, Superstep, Why
from tremula.plan.exchange import exchange_code_bytes, exchange_cycles
from tremula.plan.rearrange import rearrange_cycles
from tremula.plan.spread import Share, ceil_div, spread
from tremula.program.dtypes import item_bytes
from tremula.program.work import Elementwise

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

#: operations that have vertices for a repeated vector
_INNER = frozenset({"add", "sub", "mul", "div"})
#: elements below which matrix products do not cut their rows: a group of channels
_SHORTEST_RUN = 16


class _Pass(NamedTuple):
    """One call of a vertex on the fullest tile."""

    cycles: float
    codelet: str
    vertex: str
    #: bytes of repeated operands that a tile receives, and in how many pieces
    received: float = 0.0
    fragments: int = 1


def nothing_to_do(name: str) -> Cost:
    """The cost of work on no elements."""
    return Cost((), Bytes(), Why(plan=f"{name}: no elements", formula="0", source=""))


def with_temporaries(cost: Cost, copies: int, elements: int, dtype: str, chip: Chip) -> Cost:
    """`cost` with room for `copies` tensors of `elements` that live while its passes run."""
    held = copies * spread(elements, dtype, chip).elements * item_bytes(dtype)
    return replace(cost, bytes=replace(cost.bytes, temporary=cost.bytes.temporary + held))


def plan_elementwise(work: Elementwise, planner: Planner) -> Cost:
    """One pass over all elements."""
    chip = planner.chip
    share = spread(work.elements, work.dtype, chip)
    if share.elements == 0:
        return nothing_to_do(work.operation)
    names, unknown = vertices.resolve(work.operation)
    done = _pass(work, names, share, chip)
    exchange = exchange_cycles(done.received, chip, done.fragments)
    flops = sum(table.FLOPS.get(name, 1) for name in names)
    plan = f"{work.operation} on {share.tiles} tiles x {share.elements} elements, {done.vertex}"
    if unknown:
        plan += f"; not in the table, taken as a plain compiled loop: {', '.join(sorted(unknown))}"
    return Cost(
        supersteps=(
            Superstep(
                work.operation,
                compute_cycles=done.cycles,
                exchange_cycles=exchange,
                sync_cycles=chip.sync_cycles,
                tiles=share.tiles,
                balance=share.balance,
                flops=float(flops * work.elements),
            ),
        ),
        bytes=compute_set_bytes(
            done.codelet,
            chip,
            edges=work.operands + (0 if work.in_place else 1),
            temporary=done.received,
            exchange_code=exchange_code_bytes(done.received, chip, done.fragments),
        ),
        why=Why(
            plan=plan,
            formula="call + workers x (setup + turns of the loop x cycles per turn)",
            source=table.SOURCE,
            figures={
                "elements per tile": share.elements,
                "cycles": done.cycles,
                "bytes received": done.received,
            },
        ),
        fallback=bool(unknown),
    )


def _pass(work: Elementwise, names: tuple[str, ...], share: Share, chip: Chip) -> _Pass:
    """The vertex for `work` on a tile with `share`."""
    elements, dtype = share.elements, work.dtype
    converts = work.output_dtype not in (None, dtype, "bool")
    if len(names) > 1 or converts:
        cycles = vertices.fused_cycles(names, elements, dtype, work.operands, chip)
        if converts:
            turns = vertices.turns(elements, chip.vector_width(dtype), chip)
            cycles += chip.worker_contexts * turns
        vertex = f"one generated vertex for {len(names)} operations"
        codelet = "fused"
        if work.broadcast_elements is None:
            return _Pass(cycles, codelet, vertex)
        return _Pass(cycles, codelet, vertex, *_repeated(work, share, chip))
    name = names[0]
    kind = vertices.kind_of(name)
    if work.broadcast_elements is not None and kind == "binary":
        return _broadcast(work, name, share, chip)
    if kind == "binary" and work.operands < 2:
        return _Pass(
            vertices.scalar_cycles(name, elements, dtype, chip), _codelet(name, kind), "with a scalar"
        )
    cycles = _CYCLES[kind](name, elements, dtype, chip, work.in_place)
    received = (0.0, 1) if work.broadcast_elements is None else _repeated(work, share, chip)
    place = ", in place" if work.in_place else ""
    return _Pass(cycles, _codelet(name, kind), f"{kind} vertex{place}", *received)


def _repeated(work: Elementwise, share: Share, chip: Chip) -> tuple[float, int]:
    """Bytes and pieces of the operand that is repeated; no sharing of buses is counted on."""
    total = max(1, work.broadcast_elements or 1)
    if work.broadcast_inner:
        wanted = min(total, share.elements)
    else:
        wanted = min(share.elements, ceil_div(share.elements * total, work.elements))
    holder = spread(total, work.dtype, chip).elements
    return float(wanted * item_bytes(work.dtype)), ceil_div(wanted, holder)


def _broadcast(work: Elementwise, name: str, share: Share, chip: Chip) -> _Pass:
    """A binary operation of which one operand is repeated."""
    elements, dtype = share.elements, work.dtype
    total = max(1, work.broadcast_elements or 1)
    received = _repeated(work, share, chip)
    if total == 1:
        return _Pass(
            vertices.scalar_cycles(name, elements, dtype, chip), "broadcast", "with a scalar", *received
        )
    if total >= work.elements:
        return _Pass(
            vertices.binary_cycles(name, elements, dtype, chip, work.in_place),
            "binary",
            "binary vertex",
            *received,
        )
    if not work.broadcast_inner:
        columns = max(1, work.elements // total)
        rows = ceil_div(elements, columns)
        cycles = vertices.outer_cycles(name, rows, min(columns, elements), dtype, chip)
        return _Pass(cycles, "broadcast", f"{rows} rows with a scalar each", *received)
    return min(
        _inner_options(work, name, share, chip),
        key=lambda done: done.cycles + done.received / chip.exchange_bytes_per_cycle,
    )


def _inner_options(work: Elementwise, name: str, share: Share, chip: Chip) -> list[_Pass]:
    """Ways to combine a tile's elements with a vector that runs along the innermost dimension.

    PopLibs has vertices for it in half precision, and for division; in other cases the vector is written out as
    often as it is needed (popops/ElementWise.cpp). A tile may hold whole runs or shorter pieces of more runs, as
    the op before it left them: the layout that suits best is taken.
    """
    elements, dtype = share.elements, work.dtype
    size = item_bytes(dtype)
    total = max(1, work.broadcast_elements or 1)
    holder = spread(total, dtype, chip).elements
    plain = vertices.binary_cycles(name, elements, dtype, chip, work.in_place)
    pieces = ceil_div(min(total, elements), holder)
    if total >= elements:
        options = [
            _Pass(plain, "binary", "each tile with its part of the vector", float(elements * size), pieces)
        ]
    else:
        sent = ceil_div(elements, total) * pieces
        copied = plain + rearrange_cycles(elements * size, total * size, chip)
        options = [
            _Pass(plain, "binary", "vector sent as often as needed", float(elements * size), sent),
            _Pass(copied, "binary", "vector copied as often as needed", float(total * size), pieces),
        ]
    kind = table.TYPES[dtype]
    if kind in ("fp32", "fp16") and (name == "div" or (name in _INNER and kind == "fp16" and total % 4 == 0)):
        length = total
        while length >= _SHORTEST_RUN or length == total:
            blocks = ceil_div(elements, length)
            if blocks > 1:
                cycles = vertices.inner_cycles(name, length, blocks, dtype, chip, work.in_place)
                vertex = f"{blocks} blocks with a vector of {length}"
                pieces = ceil_div(length, holder)
                options.append(_Pass(cycles, "broadcast", vertex, float(length * size), pieces))
            if length <= _SHORTEST_RUN:
                break
            length = ceil_div(length, 16) * 8
    return options


def _codelet(name: str, kind: str) -> str:
    if name in table.LIBRARY:
        return "library"
    return {
        "activation": "nonlinearity", "gradient": "nonlinearity", "ternary": "select", "unknown": "unary",
    }.get(kind, kind)  # fmt: skip


_CYCLES: dict[str, Callable[[str, int, str, Chip, bool], float]] = {
    "unary": vertices.unary_cycles,
    "unknown": vertices.unary_cycles,
    "binary": vertices.binary_cycles,
    "activation": lambda name, n, dtype, chip, _: vertices.activation_cycles(name, n, dtype, chip),
    "gradient": lambda name, n, dtype, chip, _: vertices.gradient_cycles(name, n, dtype, chip),
    "ternary": lambda name, n, dtype, chip, _: vertices.ternary_cycles(name, n, dtype, chip),
    "scaled": lambda name, n, dtype, chip, _: vertices.scaled_cycles(name, n, dtype, chip),
}


#: words of the data path that a loop moves per turn, and its arithmetic instructions
_LOOPS = {"read": (2, 0), "write": (1, 0), "copy": (2, 0), "scale": (2, 1), "add": (3, 1), "triad": (3, 2)}
#: instructions of a hand-written loop's vertex beside its turns: state and pointers, fill and drain of the loop, exit
#: (counted in the triad of simehaa/IPU: 7 in its assembly, 10 around it)
_AROUND_LOOP = 17


def bandwidth_bytes_per_cycle(chip: Chip, kind: str, compiled: bool = False) -> float:
    """Bytes per cycle and tile of a long loop; `kind`: read, write, copy, scale, add or triad.

    In a cycle a tile reads two words of the data path (from interleaved memory) and writes one; a hand-written loop
    does a turn of copy, add or triad with it. `compiled`: the loop as the C++ compiler makes it, one instruction per
    cycle: loads, arithmetic, store, branch. A STREAM triad in C++ on Mk1 reached 7.26 TB/s, where this gives 7.8 and
    the peak of a triad is 46.7.
    """
    words, arithmetic = _LOOPS[kind]
    if not compiled:
        return float(words * chip.data_path_bytes)
    loads_and_stores = words if kind != "read" else 1
    sums = arithmetic if kind != "read" else 1
    return loads_and_stores * chip.data_path_bytes / (loads_and_stores + sums + 1)


def bandwidth_bytes_per_second(
    chip: Chip, kind: str, compiled: bool = False, bytes_per_worker: float | None = None
) -> float:
    """The same for all tiles; `bytes_per_worker`: of one array that each worker passes over between two syncs."""
    rate = bandwidth_bytes_per_cycle(chip, kind, compiled)
    if bytes_per_worker is not None:
        moved = chip.worker_contexts * _LOOPS[kind][0] * bytes_per_worker
        rate = moved / (moved / rate + chip.worker_contexts * _AROUND_LOOP + chip.sync_cycles)
    return rate * chip.tiles * chip.clock_hz


def roofline_cycles(work: Elementwise, chip: Chip) -> float:
    """Cycles below which no loop moves the operands and the result of `work` on the fullest tile."""
    share = spread(work.elements, work.dtype, chip)
    read = share.elements * item_bytes(work.dtype)
    write = share.elements * item_bytes(work.output_dtype or work.dtype)
    return max(
        math.ceil(read / bandwidth_bytes_per_cycle(chip, "read")),
        math.ceil(write / bandwidth_bytes_per_cycle(chip, "write")) if work.output_dtype != "bool" else 0,
    )
