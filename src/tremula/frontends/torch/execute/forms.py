"""The two ways to run device iterations: the quick form (generated Python over the host's kernels, ready at once) and
the compiled one (machine code for whole steps). Their numbers differ by the order of floating-point operations only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch

from tremula.frontends.torch.execute.buckets import Reduction
from tremula.frontends.torch.execute.compiled import CompiledCode
from tremula.frontends.torch.execute.device_state import DeviceState, TrainingState
from tremula.frontends.torch.execute.index_checks import IndexChecks
from tremula.frontends.torch.execute.random_state import RandomState
from tremula.frontends.torch.graphs.program import TorchProgram
from tremula.invariants import present
from tremula.program.loops import Loops

#: micro-batches of every input
Chunks = Sequence[Sequence[torch.Tensor]]


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


class RunContext:
    """What every form works on."""

    def __init__(
        self,
        program: TorchProgram,
        state: DeviceState,
        random: RandomState,
        *,
        draws: bool,
        prepare: Callable[..., list[torch.Tensor]] | None = None,
        pack: Callable[..., list[torch.Tensor]] | None = None,
        reduction: Reduction | None = None,
    ) -> None:
        self.program = program
        self.state = state
        self.random = random
        self.draws = draws
        #: sums gradients over the instances of the run, if there are others
        self.reduction = reduction
        self._prepare = _Kept(prepare)
        self._pack = _Kept(pack)
        #: factor on the loss in the last device iteration
        self.loss_scale = torch.ones(())
        #: weight updates that this call has made, and whether it is making one now
        self.updates = 0
        self.updating = False

    def held(self, replica: int) -> list[torch.Tensor]:
        """What the step takes before the inputs: parameters and buffers, or what was prepared of them."""
        return self._prepare.of(self.state.of_replica, self.state.version)[replica]

    def packed(self, replica: int) -> list[torch.Tensor]:
        """What the quick form's step takes before the inputs."""
        replicas = self._prepare.of(self.state.of_replica, self.state.version)
        return self._pack.of(replicas, self.state.version)[replica]

    def micro_batch(self, chunks: Chunks, iteration: int, accumulation: int, replica: int) -> list[Any]:
        """The inputs of one turn."""
        index = chunk_index(self.program.loops, iteration, accumulation, replica)
        return [chunk[index] for chunk in chunks]

    @contextlib.contextmanager
    def update(self) -> Iterator[None]:
        """Weights change inside; left by an error, `updating` stays."""
        self.updating = True
        yield
        self.updating = False
        self.updates += 1

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While inside, nothing is said to other instances: they do not try out what this one tries."""
        reduction, self.reduction = self.reduction, None
        try:
            yield
        finally:
            self.reduction = reduction

    def update_stream(self) -> contextlib.AbstractContextManager[None]:
        """Draws inside are those of the update: of the first replica, or the same on all instances."""
        if self.draws and self.state.buckets is not None:
            return self.random.common()
        return self.stream(0)

    def stream(self, replica: int) -> contextlib.AbstractContextManager[None]:
        """Draws inside come from the stream of a replica; with one replica it is in place already."""
        if self.draws and self.program.loops.replicas > 1:
            return self.random.replica(replica)
        return contextlib.nullcontext()


class _Kept:
    """What a function makes of each replica's tensors, made anew when the host has written to the state."""

    def __init__(self, make: Callable[..., list[torch.Tensor]] | None) -> None:
        self._make = make
        self._made: list[list[torch.Tensor]] = []
        self._version = -1

    def of(self, replicas: list[list[torch.Tensor]], version: int) -> list[list[torch.Tensor]]:
        """The results, one list for each replica; the tensors as they are where there is no function."""
        if self._make is None:
            return replicas
        if self._version != version:
            self._made = [self._make(*tensors) for tensors in replicas]
            self._version = version
        return self._made


def chunk_index(loops: Loops, iteration: int, accumulation: int, replica: int) -> int:
    """Which micro-batch of a combined batch a turn takes."""
    turn = iteration * loops.gradient_accumulation + accumulation
    groups = loops.replicas // loops.input_group_size
    if loops.input_group_size == 1:
        return turn * groups + replica
    group = replica // loops.input_group_size if loops.consecutive_groups else replica % groups
    return group * loops.device_iterations * loops.gradient_accumulation + turn


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


def turn_arguments(around: RunContext, replica: int, turn: int = 0) -> list[torch.Tensor]:
    """What the whole step's `turn` takes before the inputs."""
    state = around.state
    training = state.training
    arguments = [*around.held(replica)]
    if training is None:
        return arguments
    if turn == 0 and replica == 0:
        around.loss_scale = training.loss_scale()
    arguments.append(around.loss_scale)
    if around.program.accumulate is not None:
        arguments += state.accumulators_of(replica)
        if training.running_mean:
            arguments += running_mean_factors(turn)
    elif around.program.update is not None:
        arguments += training.state.values()
        arguments += training.hyper.values()
    return arguments


def update_arguments(around: RunContext) -> list[torch.Tensor]:
    """What the whole step's `update` takes."""
    state = around.state
    training = present(state.training, "the training state")
    return [
        *state.trained,
        *state.accumulators,
        *training.state.values(),
        *training.hyper.values(),
    ]


def running_mean_factors(turn: int) -> list[torch.Tensor]:
    """Each turn's weight in a running mean is its share of the turns so far."""
    return [torch.tensor(turn / (turn + 1)), torch.tensor(1.0 / (turn + 1))]
