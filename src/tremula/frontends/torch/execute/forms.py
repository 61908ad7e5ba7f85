"""The two ways to run device iterations: the quick form (generated Python over the host's kernels, ready at once) and
the compiled one (machine code for whole steps). Their numbers differ by the order of floating-point operations only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from tremula.frontends.torch.execute.compiled import CompiledCode
from tremula.frontends.torch.execute.device_state import TrainingState
from tremula.frontends.torch.execute.index_checks import IndexChecks
from tremula.frontends.torch.execute.run_context import (
    Chunks,
    RunContext,
    running_mean_factors,
    turn_arguments,
    update_arguments,
)
from tremula.invariants import present


class Sink(Protocol):
    """Takes what the turns of the loops produce."""

    def started(self) -> None:
        """A turn begins."""

    def produced(
        self, values: Sequence[torch.Tensor], iteration: int, accumulation: int, replica: int
    ) -> None:
        """A turn has ended with these outputs and anchored tensors."""


class Form(Protocol):
    """A way to run device iterations."""

    #: what the log calls it
    name: str
    #: device iterations that it does at once
    unrolled: int

    def iterate(self, chunks: Chunks, sink: Sink, first: int, count: int) -> None:
        """Run device iterations `first` to `first + count`."""


class End(Protocol):
    """The end of a device iteration where other instances have a part in it; see `shared_update`."""

    def start(self) -> None:
        """A device iteration begins."""

    def finish(self) -> None:
        """Sum over the instances, and update."""


class Early(Protocol):
    """A step that hands its gradients over by itself; see `shared_update`."""

    first_turn: bool

    @property
    def run(self) -> Callable[..., Any]:
        """The step; it returns outputs and anchored tensors."""


class QuickForm:
    """The captured graphs, one after the other."""

    name = "quick"
    unrolled = 1

    def __init__(
        self,
        around: RunContext,
        step: Callable[..., Any],
        accumulate: Callable[..., Any] | None,
        update: Callable[..., Any] | None,
        *,
        end: End | None = None,
        early: Early | None = None,
        copies: bool = False,
    ) -> None:
        self._around = around
        self._step = step
        self._accumulate = accumulate
        self._update = update
        self._end = end
        self._early = early
        #: whether the first gradients are copied into their accumulators, rather than added to zeros
        self._copies = copies

    def iterate(self, chunks: Chunks, sink: Sink, first: int, count: int) -> None:
        """Run device iterations `first` to `first + count`."""
        around = self._around
        loops = around.program.loops
        training = around.state.training
        returned = len(around.program.interface.outputs) + len(around.program.interface.anchors)
        turns = loops.gradient_accumulation * loops.replicas
        early = self._early if around.reduction is not None else None
        for iteration in range(first, first + count):
            gradients: list[torch.Tensor] = []
            scale = []
            if self._end is not None:
                self._end.start()
            if training is not None:
                around.loss_scale = training.loss_scale()
                scale = [around.loss_scale]
            for accumulation in range(loops.gradient_accumulation):
                for replica in range(loops.replicas):
                    micro_batch = around.micro_batch(chunks, iteration, accumulation, replica)
                    turn = accumulation * loops.replicas + replica
                    step = self._step
                    if early is not None and turn == turns - 1:
                        early.first_turn = turn == 0
                        step = early.run
                    sink.started()
                    with around.stream(replica):
                        values = step(*around.packed(replica), *micro_batch, *scale)
                    sink.produced(values[:returned], iteration, accumulation, replica)
                    if step is self._step:
                        gradients = self._gather(values[returned:], turn, replica)
            if self._end is not None:
                self._end.finish()
            elif training is not None and self._update is not None and gradients:
                self._apply(training, gradients)

    def _gather(self, gradients: list[torch.Tensor], turn: int, replica: int) -> list[torch.Tensor]:
        """Sum (or running mean) of the gradients of the turns so far."""
        state = self._around.state
        if state.training is None or self._accumulate is None:
            return gradients
        if turn == 0 and self._copies:
            torch._foreach_copy_(state.accumulators, gradients)
            return state.accumulators
        if turn == 0:
            torch._foreach_zero_(state.accumulators)
        factors = running_mean_factors(turn) if state.training.running_mean else []
        self._accumulate(*state.accumulators_of(replica), *gradients, *factors)
        return state.accumulators

    def _apply(self, training: TrainingState, gradients: list[torch.Tensor]) -> None:
        """The reduction's divisor, then the optimizer's update."""
        update = present(self._update, "the update")
        if training.divisor != 1.0:
            torch._foreach_div_(gradients, training.divisor)
        with self._around.update(), self._around.stream(0):
            update(
                *self._around.state.trained, *gradients, *training.state.values(), *training.hyper.values()
            )


class CompiledForm:
    """Machine code for whole steps."""

    name = "compiled"

    def __init__(
        self,
        around: RunContext,
        code: CompiledCode,
        unrolled: int,
        end: End | None = None,
        checks: IndexChecks | None = None,
        quick: Form | None = None,
    ) -> None:
        self._around = around
        self._code = code
        self.unrolled = unrolled
        self._end = end
        self._checks = checks
        #: raises the right error where the checks fail
        self._quick = quick

    def iterate(self, chunks: Chunks, sink: Sink, first: int, count: int) -> None:
        """Run device iterations `first` to `first + count`, a multiple of `unrolled`."""
        if self._checks is not None and self._quick is not None:
            replicas = range(self._around.program.loops.replicas)
            if not all(self._checks.sound(self._around.held(replica), chunks) for replica in replicas):
                self._quick.iterate(chunks, sink, first, count)
                return
        if self._around.program.accumulate is not None or self._around.program.loops.replicas > 1:
            self._iterate_turns(chunks, sink, first, count)
            return
        around = self._around
        training = around.state.training
        turn = self._code.turn
        unrolled = self.unrolled
        fixed = turn_arguments(around, 0)
        for iteration in range(first, first + count, unrolled):
            if training is not None and training.scale_varies:
                fixed = turn_arguments(around, 0)
            if unrolled == 1:
                sink.started()
                sink.produced(turn([*fixed, *(chunk[iteration] for chunk in chunks)]), iteration, 0, 0)
                around.updates += 1
                continue
            sink.started()
            micro_batches = [chunk[iteration + i] for i in range(unrolled) for chunk in chunks]
            values = turn([*fixed, *micro_batches])
            around.updates += unrolled
            each = len(values) // unrolled
            for i in range(unrolled):
                if i:
                    sink.started()
                sink.produced(values[i * each : (i + 1) * each], iteration + i, 0, 0)

    def _iterate_turns(self, chunks: Chunks, sink: Sink, first: int, count: int) -> None:
        around = self._around
        loops = around.program.loops
        training = around.state.training
        buckets = around.state.buckets
        # The compiled update leaves zeros behind; a call that was interrupted, or the quick form, does not.
        if buckets is None:
            torch._foreach_zero_(around.state.accumulators)
        for iteration in range(first, first + count):
            if self._end is not None:
                self._end.start()
            if buckets is not None:
                buckets.zero()
            for accumulation in range(loops.gradient_accumulation):
                for replica in range(loops.replicas):
                    turn = accumulation * loops.replicas + replica
                    arguments = turn_arguments(around, replica, turn)
                    arguments += around.micro_batch(chunks, iteration, accumulation, replica)
                    sink.started()
                    with around.stream(replica):
                        values = self._code.turn(arguments)
                    sink.produced(values, iteration, accumulation, replica)
            if self._end is not None:
                self._end.finish()
            elif training is not None and self._code.update is not None:
                with around.update():
                    self._code.update(update_arguments(around))
