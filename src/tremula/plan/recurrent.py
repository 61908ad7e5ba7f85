"""Recurrent layers: the same small products and element-wise passes at every step of a sequence.

The product with the inputs needs no earlier result: it is done for all steps at once, or with the recurrent one
inside the loop, whichever takes fewer cycles and fits. Backwards, a loop runs the gates' gradients and the
product with the weights; the weights' gradient is one product over all steps afterwards.
Order of operations: PopLibs popnn/Lstm.cpp, popnn/Gru.cpp, popnn/Rnn.cpp.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tremula.plan.cost import Alternative, Bytes, Cost, Superstep, Why, in_sequence
from tremula.program.dtypes import item_bytes
from tremula.program.work import Elementwise, MatMul, Recurrent

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

SOURCE = "PopLibs popnn/Lstm.cpp, popnn/Gru.cpp, popnn/Rnn.cpp"

#: gates, and thus columns of the weights per unit of the state
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
#: passes of one step: operation, elements in multiples of the state, operands
FORWARD: dict[str, tuple[tuple[str, int, int], ...]] = {
    "lstm": (
        ("add", 4, 2),
        ("sigmoid", 3, 1),
        ("tanh", 1, 1),
        ("mul", 1, 2),
        ("mul+add", 1, 3),
        ("tanh", 1, 1),
        ("mul", 1, 2),
    ),
    "gru": (("add", 3, 2), ("sigmoid", 2, 1), ("mul+add", 1, 3), ("tanh", 1, 1), ("sub+mul+add", 1, 3)),
    "rnn": (("add", 1, 2), ("tanh", 1, 1)),
}
GRADIENT: dict[str, tuple[tuple[str, int, int], ...]] = {
    "lstm": (
        ("add", 1, 2),
        ("mul+mul", 2, 3),
        ("tanh_gradient+add", 1, 3),
        ("mul", 3, 2),
        ("sigmoid_gradient", 3, 2),
        ("tanh_gradient", 1, 2),
    ),
    "gru": (
        ("add", 1, 2),
        ("mul+mul", 2, 3),
        ("tanh_gradient", 1, 2),
        ("mul", 2, 2),
        ("sigmoid_gradient", 2, 2),
        ("add", 1, 2),
    ),
    "rnn": (("add", 1, 2), ("tanh_gradient", 1, 2)),
}
#: instructions of the supervisor to count steps and find the slices of one
_LOOP_CYCLES = 60
#: cycles of cutting out a slice: of the supervisor, of a worker (PopLibs poplin/ConvModel.cpp)
_SLICE_SUPERVISOR = 25
_SLICE_WORKER = 63


def plan_recurrent(work: Recurrent, planner: Planner) -> Cost:
    """One layer and direction over a sequence."""
    if work.steps * work.batch * work.hidden == 0:
        return Cost((), Bytes(), Why(plan="recurrent layer over nothing", formula="0", source=""))
    return _gradient(work, planner) if work.gradient else _forward(work, planner)


def _product(work: Recurrent, planner: Planner, rows: int, inner: int, columns: int, role: str) -> Cost:
    return planner.plan(
        MatMul(
            rows,
            inner,
            columns,
            dtype=work.dtype,
            partials=work.partials,
            proportion=work.proportion,
            role=role,
        )
    )


def _passes(work: Recurrent, planner: Planner, passes: tuple[tuple[str, int, int], ...]) -> Cost:
    state = work.batch * work.hidden
    parts = [
        planner.plan(Elementwise(operation, times * state, work.dtype, operands=operands))
        for operation, times, operands in passes
    ]
    why = Why(plan=f"gates of a {work.kind} step in {len(parts)} passes", formula="sum", source=SOURCE)
    return in_sequence(parts, why)


def _loop(work: Recurrent, planner: Planner, read: int, written: int) -> Cost:
    """What turns the loop: the step counted, its elements cut out of the sequence and put back into another."""
    chip = planner.chip
    cycles = float(_LOOP_CYCLES)
    for elements in (read, written):
        vectors = -(-elements // (chip.tiles * chip.worker_contexts * chip.vector_width(work.dtype)))
        cycles += _SLICE_SUPERVISOR + chip.worker_contexts * (_SLICE_WORKER + 2 * vectors)
    step = Superstep("step", compute_cycles=cycles, sync_cycles=chip.sync_cycles, tiles=chip.tiles)
    control = Bytes(control_code=_LOOP_CYCLES * chip.instruction_bytes)
    return Cost(
        (step,), control, Why(plan="loop over steps", formula="60 + two dynamic slices", source=SOURCE)
    )


def _forward(work: Recurrent, planner: Planner) -> Cost:
    chip = planner.chip
    columns = GATES[work.kind] * work.hidden
    gates = _passes(work, planner, FORWARD[work.kind])
    state = work.batch * work.hidden
    ahead = _product(work, planner, work.steps * work.batch, work.inputs, columns, "forward")
    recurrent = _product(work, planner, work.batch, work.hidden, columns, "forward")
    before = in_sequence(
        [
            ahead,
            _turn([recurrent, gates, _loop(work, planner, work.batch * columns, state)]).repeated(work.steps),
        ],
        _why(work, "inputs multiplied ahead for all steps"),
    )
    both = _product(work, planner, work.batch, work.inputs + work.hidden, columns, "forward")
    inside = in_sequence(
        [_turn([both, gates, _loop(work, planner, work.batch * work.inputs, state)]).repeated(work.steps)],
        _why(work, "inputs and state multiplied step by step"),
    )
    # the products of all steps stay until their step has come
    kept = work.steps * work.batch * columns * item_bytes(work.dtype) // chip.tiles
    before = replace(before, bytes=replace(before.bytes, temporary=before.bytes.temporary + kept))
    fits = before.bytes.temporary <= work.proportion * chip.tile_memory_bytes
    if fits and before.cycles <= inside.cycles:
        return _preferred(before, inside, "more cycles")
    return _preferred(inside, before, "more cycles" if fits else "products of all steps do not fit")


def _gradient(work: Recurrent, planner: Planner) -> Cost:
    columns = GATES[work.kind] * work.hidden
    inputs = work.inputs + work.hidden
    gates = _passes(work, planner, GRADIENT[work.kind])
    back = _product(work, planner, work.batch, columns, inputs, "input_gradient")
    weights = _product(work, planner, inputs, work.steps * work.batch, columns, "weight_gradient")
    loop = _turn(
        [gates, back, _loop(work, planner, work.batch * columns, work.batch * work.inputs)]
    ).repeated(work.steps)
    return in_sequence([loop, weights], _why(work, "gates and inputs step by step, weights over all steps"))


def _turn(parts: list[Cost]) -> Cost:
    return in_sequence(parts, Why(plan="one step", formula="sum of the parts", source=SOURCE))


def _why(work: Recurrent, how: str) -> Why:
    return Why(
        plan=f"{work.kind} of {work.hidden} over {work.steps} steps: {how}",
        formula="steps x (product + gates + loop) + products over all steps",
        source=SOURCE,
        figures={"steps": float(work.steps), "gates": float(GATES[work.kind])},
    )


def _preferred(taken: Cost, other: Cost, reason: str) -> Cost:
    alternative = Alternative(other.why.plan, other.cycles, reason)
    return replace(taken, why=replace(taken.why, alternatives=(alternative,)))
