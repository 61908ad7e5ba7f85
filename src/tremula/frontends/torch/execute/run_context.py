"""What the forms of a program work on: its state, the micro-batches of a call, and the arguments of its graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from tremula.frontends.torch.execute.buckets import Reduction
from tremula.frontends.torch.execute.device_state import DeviceState
from tremula.frontends.torch.execute.random_state import RandomState
from tremula.frontends.torch.graphs.program import TorchProgram
from tremula.invariants import present
from tremula.program.loops import Loops

#: micro-batches of every input
Chunks = Sequence[Sequence[torch.Tensor]]


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
