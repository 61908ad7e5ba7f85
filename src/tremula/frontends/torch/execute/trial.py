"""A trial of compiled code against the quick form on the program's own state, which is put back afterwards: results
are compared, with tolerance for another order of additions, and then they race.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tremula.frontends.torch.execute.forms import Form
from tremula.frontends.torch.execute.memory import free_memory
from tremula.frontends.torch.execute.run_context import Chunks, RunContext

#: allowed difference, relative to the norm of what is compared
_TOLERANCE = 1e-3
#: of optimizer state, which sums gradients: where two values nearly tie in a maximum, or one is nearly zero in
#: a rectifier, rounding decides which way a gradient goes
_TOLERANCE_STATE = 2e-2
_TOLERANCE_HALF = 3e-2
#: Weights are compared by how they moved. Where a gradient is nothing but rounding noise (a bias before a
#: normalisation), Adam makes full steps of it in either direction.
_TOLERANCE_STEP = 0.1
#: of inputs that a program writes to: weights that its caller keeps, and the optimizer's state
_INPUTS, _STATE = "inputs", "state"
_COMPARED_BY_MOVE = ("weights", _INPUTS)
_RACE_SECONDS = 1.0
_LEAST_ROUNDS = 2
_MOST_ROUNDS = 30


@dataclass(frozen=True)
class Verdict:
    """What a trial found."""

    equal: bool
    speedup: float
    difference: str = ""

    @property
    def use(self) -> bool:
        """Whether the compiled form is to be used."""
        return self.equal and self.speedup >= 1.0

    def as_data(self) -> dict[str, Any]:
        """For the cache."""
        return {"equal": self.equal, "speedup": round(self.speedup, 3)}

    @classmethod
    def of(cls, data: Any) -> Verdict | None:
        """The verdict in the cache, if there is a sound one."""
        if not isinstance(data, dict) or data.get("equal") is not True:
            return None
        speedup = data.get("speedup")
        return cls(True, float(speedup)) if isinstance(speedup, int | float) else None


class _Kept:
    """Keeps the outputs of a trial."""

    def __init__(self) -> None:
        self.values: list[torch.Tensor] = []

    def started(self) -> None:
        pass

    def produced(self, values: Sequence[torch.Tensor], *_turn: int) -> None:
        self.values.extend(values)


def enough_memory(around: RunContext, chunks: Chunks) -> bool:
    """Whether the host has room for a trial, which keeps what a step writes three times over."""
    written = [*around.state.written(), *_written_inputs(around, chunks)]
    needed = 3 * sum(tensor.numel() * tensor.element_size() for _, tensor in written)
    free = free_memory()
    return free is None or needed < free


def tried(around: RunContext, quick: Form, compiled: Form, chunks: Chunks) -> Verdict:
    """Compare and race two forms."""
    count = compiled.unrolled
    with around.alone(), _put_back(around, chunks) as restore:
        reference = _run(around, quick, chunks, count)
        restore()
        try:
            found = _run(around, compiled, chunks, count)
        except (RuntimeError, IndexError) as problem:
            return Verdict(False, 0.0, f"it fails: {problem}")
        before = restore()
        difference = _difference(reference, found, before)
        if difference:
            return Verdict(False, 0.0, difference)
        speedup = _race(quick, compiled, chunks, count, restore)
    return Verdict(True, speedup)


def _race(quick: Form, compiled: Form, chunks: Chunks, count: int, restore: Any) -> float:
    # one thread is not slower because others are busy, too; several wait for each other, and only a clock sees it
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    times: dict[str, list[float]] = {quick.name: [], compiled.name: []}
    stop = time.perf_counter() + _RACE_SECONDS
    for round_ in range(_MOST_ROUNDS):
        if round_ >= _LEAST_ROUNDS and time.perf_counter() > stop:
            break
        for form in (quick, compiled):
            started = clock()
            form.iterate(chunks, _Kept(), 0, count)
            times[form.name].append(clock() - started)
        restore()
    return min(times[quick.name]) / max(min(times[compiled.name]), 1e-9)


def _run(around: RunContext, form: Form, chunks: Chunks, count: int) -> dict[str, list[torch.Tensor]]:
    """Everything that `count` iterations return and write, by kind."""
    sink = _Kept()
    form.iterate(chunks, sink, 0, count)
    results = {f"output {i}": [value.clone()] for i, value in enumerate(sink.values)}
    for kind, tensor in (*around.state.written(), *_written_inputs(around, chunks)):
        if kind != "accumulators":
            results.setdefault(kind, []).append(tensor.clone())
    return results


def _written_inputs(around: RunContext, chunks: Chunks) -> Iterator[tuple[str, torch.Tensor]]:
    """Every input that a step may write, with a word for its kind."""
    program = around.program
    for place in sorted(program.mutated_inputs):
        for chunk in chunks[place]:
            yield _STATE if place in program.state_inputs else _INPUTS, chunk


@contextlib.contextmanager
def _put_back(around: RunContext, chunks: Chunks) -> Iterator[Any]:
    """Everything that a step writes is as it was afterwards; the value restores it in between."""
    state = around.state
    tensors = [*state.written(), *_written_inputs(around, chunks)]
    kept = [tensor.clone() for _, tensor in tensors]
    stream = torch.get_rng_state()
    words = around.random.words() if around.draws else None
    scale = around.loss_scale

    def restore() -> dict[str, list[torch.Tensor]]:
        for (_, tensor), value in zip(tensors, kept, strict=True):
            tensor.copy_(value)
        torch.set_rng_state(stream)
        if words is not None:
            around.random.restore(words)
        around.loss_scale = scale
        before: dict[str, list[torch.Tensor]] = {}
        for (kind, _), value in zip(tensors, kept, strict=True):
            before.setdefault(kind, []).append(value)
        return before

    try:
        yield restore
    finally:
        restore()


def _difference(
    reference: dict[str, list[torch.Tensor]],
    found: dict[str, list[torch.Tensor]],
    before: dict[str, list[torch.Tensor]],
) -> str:
    """What differs by more than rounding, in words; empty if nothing does."""
    if reference.keys() != found.keys():
        return "another number of results"
    for kind, expected in reference.items():
        actual = found[kind]
        if kind in _COMPARED_BY_MOVE:
            moved = [a.double() - b.double() for a, b in zip(expected, before[kind], strict=True)]
            other = [a.double() - b.double() for a, b in zip(actual, before[kind], strict=True)]
            tolerance = _TOLERANCE_STEP
            distance = 0.0 if _only_rounded(moved, other, expected) else _distance(moved, other)
        else:
            half = any(tensor.dtype is torch.float16 for tensor in expected)
            exact = _TOLERANCE if kind.startswith(("output", "buffers")) else _TOLERANCE_STATE
            distance, tolerance = _distance(expected, actual), _TOLERANCE_HALF if half else exact
        if not distance <= tolerance:
            return f"{kind} by {distance:.2g} of its size"
    return ""


def _only_rounded(
    moved: Sequence[torch.Tensor], other: Sequence[torch.Tensor], weights: Sequence[torch.Tensor]
) -> bool:
    """Whether two moves differ by no more than storing the new weights rounds: small steps are lost in that."""
    difference = rounding = 0.0
    for a, b, weight in zip(moved, other, weights, strict=True):
        if weight.is_floating_point():
            rounding += (torch.finfo(weight.dtype).eps * float(weight.double().norm())) ** 2
        difference += float((a - b).square().sum())
    return difference <= rounding  # not if there is a NaN


def _distance(expected: Sequence[torch.Tensor], actual: Sequence[torch.Tensor]) -> float:
    """The norm of the difference relative to that of the expected values; equal infinities and NaNs are equal."""
    total = difference = 0.0
    for a, b in zip(expected, actual, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return math.inf
        wide, other = a.double(), b.double()
        finite = wide.isfinite() & other.isfinite()
        same = (wide == other) | (wide.isnan() & other.isnan())
        if not bool((finite | same).all()):
            return math.inf
        total += float(wide[finite].square().sum())
        difference += float((wide - other)[finite].square().sum())
    if difference == 0.0:
        return 0.0
    return math.sqrt(difference / total) if total else math.inf
