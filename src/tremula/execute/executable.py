"""A program with its device state: what a compiled and loaded model is.

Holds the device's copies of parameters, buffers and optimizer state, apart from the host's, and runs the
captured graphs over device iterations, accumulation steps and replicas. This is the plain reference
form: obvious, correct, and no slower than the eager loop it replaces.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from tremula.execute.lower import lower
from tremula.execute.outputs import OutputCollector, OutputRule
from tremula.execute.precision import DEFAULT_PRECISION, Precision
from tremula.execute.random_state import RandomState
from tremula.program.graph import Program
from tremula.settings import env


@dataclass(frozen=True)
class ReplicaGrouping:
    """A parameter with one value per group of replicas: dimension 0 of the device's tensor is the group."""

    groups: int
    consecutive: bool

    def group_of(self, replica: int, replicas: int) -> int:
        """The group that a replica belongs to."""
        return replica // (replicas // self.groups) if self.consecutive else replica % self.groups


@dataclass
class TrainingState:
    """What training adds to the device's state."""

    state: dict[str, torch.Tensor]
    hyper: dict[str, torch.Tensor]
    #: the factor on the loss in force now
    loss_scale: Callable[[], torch.Tensor]
    #: divisor of the summed gradients; 1 for a sum
    divisor: float = 1.0
    running_mean: bool = False
    accumulator_dtypes: tuple[torch.dtype, ...] = ()


@dataclass
class TurnTimes:
    """Host clock readings (seconds) of each turn of the loops during the last call."""

    started: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)


class Executable:
    """Runs a program. Weights change only through `run`, `write_state` and the training tensors."""

    def __init__(
        self,
        program: Program,
        state: Mapping[str, torch.Tensor],
        *,
        outputs: Sequence[OutputRule],
        random: RandomState,
        groupings: Mapping[str, ReplicaGrouping] | None = None,
        training: TrainingState | None = None,
        precision: Precision = DEFAULT_PRECISION,
        traps: bool = False,
        clock: Callable[[], float],
    ) -> None:
        threads: int = env.get("TREMULA_THREADS") or 0
        if threads:
            torch.set_num_threads(threads)
        self.program = program
        self.random = random
        self.training = training
        self.times = TurnTimes()
        self._clock = clock
        self._rules = list(outputs)
        self._groupings = dict(groupings or {})
        self._parameters = {name: state[name].detach().clone() for name in program.interface.parameters}
        self._buffers = self._fresh_buffers(state)
        self._draws = program.uses_random or precision.stochastic_rounding
        self._step = lower(program.step, precision, traps=traps)
        self._accumulate = lower(program.accumulate, precision) if program.accumulate is not None else None
        self._update = lower(program.update, precision) if program.update is not None else None
        self._replica_state = [self._arguments_of(replica) for replica in range(program.loops.replicas)]
        self._accumulators: list[torch.Tensor] = []
        #: factor on the loss in the last device iteration
        self.loss_scale = torch.ones(())

    # -- state -------------------------------------------------------------------------------------------

    def read_state(self) -> dict[str, torch.Tensor]:
        """The device's parameters and the first replica's buffers. Not copies: do not write to them."""
        return {**self._parameters, **self._buffers[0]}

    def write_state(self, values: Mapping[str, torch.Tensor]) -> None:
        """Copy host values into the device's parameters and every replica's buffers."""
        with torch.no_grad():
            for name, value in values.items():
                if name in self._parameters:
                    self._parameters[name].copy_(value)
                else:
                    for buffers in self._buffers:
                        if name in buffers:
                            buffers[name].copy_(value)

    def _fresh_buffers(self, state: Mapping[str, torch.Tensor]) -> list[dict[str, torch.Tensor]]:
        shared = {name: state[name].detach().clone() for name in self.program.interface.buffers}
        replicas = [shared]
        for _ in range(1, self.program.loops.replicas):
            own = {
                name: tensor.clone() if name in self.program.mutated_buffers else tensor
                for name, tensor in shared.items()
            }
            replicas.append(own)
        return replicas

    def _arguments_of(self, replica: int) -> list[torch.Tensor]:
        """The step graph's parameters and buffers as one replica sees them."""
        arguments = []
        for name in self.program.interface.parameters:
            tensor = self._parameters[name]
            grouping = self._groupings.get(name)
            if grouping is not None:
                tensor = tensor[grouping.group_of(replica, self.program.loops.replicas)]
            arguments.append(tensor)
        arguments.extend(self._buffers[replica][name] for name in self.program.interface.buffers)
        return arguments

    # -- running -----------------------------------------------------------------------------------------

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """One host call on a combined batch: the outputs, then the anchored tensors."""
        loops = self.program.loops
        chunks = [self._chunks(tensor) for tensor in inputs]
        collectors = [OutputCollector(rule, loops) for rule in self._rules]
        self.times = TurnTimes()
        # Autograd's dispatch keys are off either way; some forward kernels keep what their backward kernel
        # needs only while gradients are "enabled".
        enabled = self.training is not None
        with torch.set_grad_enabled(enabled), torch._C._AutoDispatchBelowAutograd(), self._random_streams():
            for iteration in range(loops.device_iterations):
                gradients: list[torch.Tensor] = []
                if self.training is not None:
                    self.loss_scale = self.training.loss_scale()
                for accumulation in range(loops.gradient_accumulation):
                    for replica in range(loops.replicas):
                        index = self._chunk_index(iteration, accumulation, replica)
                        values = self._turn(replica, [chunk[index] for chunk in chunks])
                        for collector, value in zip(collectors, values, strict=False):
                            collector.add(value, iteration, accumulation, replica)
                        turn = accumulation * loops.replicas + replica
                        gradients = self._gather(values[len(collectors) :], turn, replica)
                if self.training is not None:
                    self._apply(gradients)
        return [collector.result() for collector in collectors]

    def _turn(self, replica: int, micro_batch: list[torch.Tensor]) -> list[torch.Tensor]:
        """One forward (and backward) of one replica."""
        arguments = [*self._replica_state[replica], *micro_batch]
        if self.training is not None:
            arguments.append(self.loss_scale)
        self.times.started.append(self._clock())
        if self._draws and self.program.loops.replicas > 1:
            with self.random.replica(replica):
                values: list[torch.Tensor] = self._step(*arguments)
        else:
            values = self._step(*arguments)
        self.times.ended.append(self._clock())
        return values

    @contextlib.contextmanager
    def _random_streams(self) -> Iterator[None]:
        if not self._draws:
            yield
            return
        with self.random.host_untouched():
            if self.program.loops.replicas > 1:
                yield
            else:
                with self.random.replica(0):
                    yield

    def _chunks(self, tensor: torch.Tensor) -> Sequence[torch.Tensor]:
        factor = self.program.loops.factor
        if factor == 1 or tensor.dim() == 0:
            return [tensor] * factor
        return torch.split(tensor, tensor.shape[0] // factor)

    def _chunk_index(self, iteration: int, accumulation: int, replica: int) -> int:
        loops = self.program.loops
        turn = iteration * loops.gradient_accumulation + accumulation
        groups = loops.replicas // loops.input_group_size
        if loops.input_group_size == 1:
            return turn * groups + replica
        group = replica // loops.input_group_size if loops.consecutive_groups else replica % groups
        return group * loops.device_iterations * loops.gradient_accumulation + turn

    # -- training ----------------------------------------------------------------------------------------

    def _gather(self, gradients: list[torch.Tensor], turn: int, replica: int) -> list[torch.Tensor]:
        """Sum (or running mean) of the gradients of the turns so far."""
        training = self.training
        if training is None or self._accumulate is None:
            return gradients
        if turn == 0:
            self._start_accumulators(gradients)
        targets = [self._accumulator_of(i, replica) for i in range(len(self._accumulators))]
        # running mean: each turn's weight is its share of the turns so far
        factors = (
            [torch.tensor(turn / (turn + 1)), torch.tensor(1.0 / (turn + 1))] if training.running_mean else []
        )
        self._accumulate(*targets, *gradients, *factors)
        return self._accumulators

    def _start_accumulators(self, gradients: list[torch.Tensor]) -> None:
        training = self.training
        assert training is not None
        if not self._accumulators:
            for name, gradient, dtype in zip(
                self.program.interface.gradients, gradients, training.accumulator_dtypes, strict=True
            ):
                shape = self._parameters[name].shape
                self._accumulators.append(torch.zeros(shape, dtype=dtype, device=gradient.device))
        else:
            torch._foreach_zero_(self._accumulators)

    def _accumulator_of(self, index: int, replica: int) -> torch.Tensor:
        name = self.program.interface.gradients[index]
        grouping = self._groupings.get(name)
        if grouping is None:
            return self._accumulators[index]
        return self._accumulators[index][grouping.group_of(replica, self.program.loops.replicas)]

    def _apply(self, gradients: list[torch.Tensor]) -> None:
        """The reduction's divisor, then the optimizer's update."""
        training = self.training
        if training is None or self._update is None or not gradients:
            return
        if training.divisor != 1.0 and not training.running_mean:
            torch._foreach_div_(gradients, training.divisor)
        trained = [self._parameters[name] for name in self.program.interface.gradients]
        stream = (
            self.random.replica(0)
            if self._draws and self.program.loops.replicas > 1
            else contextlib.nullcontext()
        )
        with stream:
            self._update(*trained, *gradients, *training.state.values(), *training.hyper.values())
