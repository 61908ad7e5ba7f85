"""Cycles of one call of an element-wise vertex on one tile, all workers at work.

A tile's workers take turns, so a cycle of one of six workers costs six of the tile. The one-dimensional vertices
cut their elements evenly; the formulas are those of PopLibs popopsCycleEstimators.cpp, PerformanceEstimation.cpp
and popnnCycleEstimators.cpp, with one correction: a scaled addition is as slow as its busiest worker, which is
what the tile cycles measured on hardware show (tessellate-ipu: 375/467/665/1043 for 64/128/256/512 elements).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from tremula.hardware.chip import Chip
from tremula.plan import elementwise_table as table
from tremula.plan.elementwise_table import Loop
from tremula.plan.spread import ceil_div

#: cycles that a measurement on hardware adds to a vertex: reading the counter and starting the compute set
#: (tessellate-ipu states 45 for the former; 35 for the latter is fitted to the four scaled additions above)
COUNTER_CYCLES = 80

_DEFAULTS = {"fp16": "fp32", "int16": "int32", "int64": "int32", "bool": "int32"}


@cache
def resolve(operation: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Names of the table for `operation`, and those among its parts that the table does not have."""
    names: list[str] = []
    for part in operation.split("+"):
        name = table.ALIASES.get(part, part)
        names.extend(table.EXPRESSIONS.get(name, name).split("+"))
    return tuple(names), frozenset(name for name in names if kind_of(name) == "unknown")


@cache
def kind_of(name: str) -> str:
    """The family of vertices that does `name`."""
    for kind, entries in _FAMILIES.items():
        if name in entries:
            return kind
    return "unknown"


_FAMILIES: dict[str, dict[str, table.Entry]] = {
    "unary": table.UNARY,
    "binary": table.BINARY,
    "activation": table.ACTIVATION,
    "gradient": table.ACTIVATION_GRADIENT,
    "ternary": table.TERNARY,
    "scaled": table.SCALED,
}


@cache
def loop(name: str, dtype: str, in_place: bool = False, scalar: bool = False) -> Loop:
    """The inner loop that does `name` on elements of `dtype`."""
    wanted = table.TYPES[dtype]
    entries: list[table.Entry] = []
    if scalar and name in table.SCALAR:
        entries.append(table.SCALAR[name])
    if in_place:
        entries.append({**table.UNARY_IN_PLACE, **table.BINARY_IN_PLACE}.get(name, {}))
    entries.append(_FAMILIES.get(kind_of(name), {}).get(name, {}))
    entries.append(table.UNKNOWN)
    for entry in entries:
        if wanted in entry:
            return Loop(*entry[wanted])
    # the operation is there, for other types: a worker handles one element per turn of the nearest type's loop
    for entry in entries:
        nearest = _DEFAULTS.get(wanted, wanted)
        if nearest in entry:
            return Loop(*entry[nearest])
    return Loop(*table.UNKNOWN["int32"])


def turns(elements: int, per_turn: int, chip: Chip) -> int:
    """Turns of the loop of the busiest worker."""
    return ceil_div(ceil_div(elements, chip.worker_contexts), per_turn)


def unary_cycles(operation: str, elements: int, dtype: str, chip: Chip, in_place: bool = False) -> float:
    """One operand."""
    turn = loop(operation, dtype, in_place)
    if in_place:
        setup = table.UNARY_IN_PLACE_SETUP
    else:
        setup = table.EXP_SETUP if operation == "exp" else table.UNARY_SETUP
    return table.UNARY_CALL + chip.worker_contexts * (
        setup + turns(elements, turn.elements, chip) * turn.cycles
    )


def binary_cycles(operation: str, elements: int, dtype: str, chip: Chip, in_place: bool = False) -> float:
    """Two operands of one shape."""
    turn = loop(operation, dtype, in_place)
    if in_place:
        setup = table.BINARY_IN_PLACE_SETUP
    else:
        setup = table.BINARY_SETUP.get(dtype, table.BINARY_SETUP_OTHERS)
    return table.BINARY_CALL + chip.worker_contexts * (
        setup + turns(elements, turn.elements, chip) * turn.cycles
    )


def scalar_cycles(operation: str, elements: int, dtype: str, chip: Chip) -> float:
    """One operand and a scalar."""
    turn = loop(operation, dtype, scalar=True)
    work = turns(elements, turn.elements, chip) * turn.cycles
    return table.BINARY_CALL + chip.worker_contexts * (table.SCALAR_SETUP + work)


def outer_cycles(operation: str, rows: int, columns: int, dtype: str, chip: Chip) -> float:
    """`rows` rows of `columns` elements, each row with a scalar of its own: by rows or by columns."""
    turn = loop(operation, dtype, scalar=True)
    workers = chip.worker_contexts
    if operation in ("add", "sub", "mul") and dtype in ("fp32", "fp16"):
        # rows that begin amid a vector would cost 18 more
        start, per_row = 15, 7
    else:
        start, per_row = 20, 28
    by_row = ceil_div(rows, workers) * (per_row + ceil_div(columns, turn.elements) * turn.cycles)
    by_column = rows * (per_row + turns(columns, turn.elements, chip) * turn.cycles)
    return table.BINARY_CALL + workers * (start + min(by_row, by_column))


def inner_cycles(
    operation: str, length: int, blocks: int, dtype: str, chip: Chip, in_place: bool = False
) -> float:
    """`blocks` runs of `length` elements, each with the same vector; workers share the blocks."""
    half = dtype != "fp32"
    blocks_here = ceil_div(blocks, chip.worker_contexts)
    core = _inner_core(operation, length, blocks_here, half, in_place and operation == "mul")
    return 19 + chip.worker_contexts * ((26 if half else 20) + core)


def _inner_core(operation: str, length: int, blocks: int, half: bool, in_place: bool) -> float:
    """A worker's share of `inner_cycles`: the vector's elements stay in registers while blocks pass by."""
    if operation == "div":
        if not half:
            pairs, odd = divmod(length, 2)
            return 10 + pairs * (11 + 6 * (blocks - 1)) + odd * (9 + 4 * (blocks - 1))
        return 14 + ceil_div(length, 2) * (13 + 8 * (blocks - 1))
    if not half:
        return 7 + length * (8 + 2 * blocks)
    if operation == "mul":
        if length % 4:
            return 8 + length * (5 + 9 * blocks)
        if in_place or blocks < 2:
            return 12 + length // 4 * (7 + 2 * blocks)
        return 12 + length // 4 * (9 + blocks)
    if length % 8 == 0:
        return 12 + length // 8 * (7 if blocks == 1 else 13 + 2 * blocks)
    one_by_one = 12 + length * (5 + 9 * blocks)
    if length % 4:
        return one_by_one
    # pairs of blocks; a lone block goes element by element
    in_pairs = 15 + length // 4 * (11 + 2 * (max(2, blocks) // 2) + blocks % 2)
    return in_pairs if blocks > 1 else min(one_by_one, in_pairs)


def activation_cycles(operation: str, elements: int, dtype: str, chip: Chip) -> float:
    """Activations with a pipelined loop."""
    turn = loop(operation, dtype)
    latency = table.ACTIVATION_LATENCY[operation].get(table.TYPES[dtype], 10)
    work = 3 + 2 * latency + (turns(elements, turn.elements, chip) - 1) * turn.cycles
    return table.ACTIVATION_CALL + chip.worker_contexts * (table.ACTIVATION_SETUP + 3 + work)


def gradient_cycles(operation: str, elements: int, dtype: str, chip: Chip) -> float:
    """Gradients of activations, from the output and its gradient."""
    turn = loop(operation, dtype)
    work = 5 + (turns(elements, turn.elements, chip) - 1) * turn.cycles
    tail = 4 if dtype == "fp32" else 6
    return table.ACTIVATION_CALL + chip.worker_contexts * (table.ACTIVATION_SETUP + tail + work)


def ternary_cycles(operation: str, elements: int, dtype: str, chip: Chip) -> float:
    """Three operands; a vertex per worker."""
    turn = loop(operation, dtype)
    return chip.worker_contexts * (table.TERNARY_SETUP + turns(elements, turn.elements, chip) * turn.cycles)


def scaled_cycles(
    operation: str,
    elements: int,
    dtype: str,
    chip: Chip,
    counted: bool = False,
    other_dtype: str | None = None,
) -> float:
    """`scaled_add` (x + b y) or `axpby` (a x + b y) in place; `counted`: as a cycle counter shows it."""
    turn = loop(operation, dtype)
    per_turn = turn.cycles
    setup, call = table.SCALED_SETUP, table.SCALED_CALL
    if operation == "axpby" and dtype == "fp32":
        setup, call = table.AXPBY_SETUP, table.AXPBY_CALL
    if other_dtype is not None and other_dtype != dtype:
        # mixed types convert on the way
        per_turn += 2 if dtype == "fp16" else 1
        setup += 4 if dtype == "fp16" else 0
    work = setup + (turns(elements, turn.elements, chip) - 1) * per_turn
    return call + chip.worker_contexts * work + (COUNTER_CYCLES if counted else 0)


def fused_cycles(operations: tuple[str, ...], elements: int, dtype: str, operands: int, chip: Chip) -> float:
    """One generated vertex for several operations: a load per operand, a store, all the arithmetic between."""
    width = chip.vector_width(dtype)
    arithmetic = sum(loop(name, dtype).arithmetic for name in operations)
    per_vector = max(1, operands) + 2 + arithmetic
    setup = table.BINARY_SETUP.get(dtype, table.BINARY_SETUP_OTHERS)
    return table.BINARY_CALL + chip.worker_contexts * (setup + turns(elements, width, chip) * per_vector)


#: for the registry of vertices
ELEMENTWISE_VERTICES: dict[str, Callable[..., float]] = {
    "unary": unary_cycles,
    "binary": binary_cycles,
    "scalar_broadcast": scalar_cycles,
    "outer_broadcast": outer_cycles,
    "inner_broadcast": inner_cycles,
    "activation": activation_cycles,
    "activation_gradient": gradient_cycles,
    "ternary": ternary_cycles,
    "scaled_add": partial(scaled_cycles, "scaled_add"),
    "axpby": partial(scaled_cycles, "axpby"),
}
