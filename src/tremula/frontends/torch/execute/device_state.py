"""What lives on the device between calls: parameters, buffers per replica, optimizer state, accumulators. Forms of
execution change these tensors in place; convolution weights may lie channels last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch

from tremula.execute.settings import ReplicaGrouping
from tremula.frontends.torch.execute.buckets import Buckets, bucket_members
from tremula.frontends.torch.graphs.program import TorchProgram


@dataclass
class TrainingState:
    """What training adds to the device's state."""

    state: dict[str, torch.Tensor]
    hyper: dict[str, torch.Tensor]
    #: the factor on the loss in force now
    loss_scale: Callable[[], torch.Tensor]
    #: whether that factor may change from one device iteration to the next
    scale_varies: bool = False
    #: divisor of what was accumulated and summed over instances; 1 for a sum
    divisor: float = 1.0
    running_mean: bool = False
    accumulator_dtypes: tuple[torch.dtype, ...] = ()


class DeviceState:
    """All tensors that a program keeps on the device."""

    def __init__(
        self,
        program: TorchProgram,
        state: Mapping[str, torch.Tensor],
        groupings: Mapping[str, ReplicaGrouping],
        training: TrainingState | None,
        *,
        bucketed: bool = False,
    ) -> None:
        self._program = program
        self._groupings = dict(groupings)
        self.training = training
        #: counts how often the host wrote to the state
        self.version = 0
        self.parameters = {name: _own(state[name]) for name in program.interface.parameters}
        self.buffers = self._fresh_buffers(state)
        #: parameters and buffers as each replica's step graph takes them
        self.of_replica = [self._arguments_of(replica) for replica in range(program.loops.replicas)]
        self.trained = [self.parameters[name] for name in program.interface.gradients]
        self.accumulators: list[torch.Tensor] = []
        #: where the accumulators lie if other instances' gradients are added to them
        self.buckets: Buckets | None = None
        if training is not None and program.accumulate is not None and bucketed:
            dtypes = training.accumulator_dtypes
            self.buckets = Buckets(bucket_members(program, dtypes), self.trained, dtypes)
            self.accumulators = self.buckets.views
        elif training is not None and program.accumulate is not None:
            self.accumulators = [
                torch.zeros_like(parameter, dtype=dtype)
                for parameter, dtype in zip(self.trained, training.accumulator_dtypes, strict=True)
            ]

    def read(self) -> dict[str, torch.Tensor]:
        """Parameters and the first replica's buffers: not copies."""
        return {**self.parameters, **self.buffers[0]}

    def write(self, values: Mapping[str, torch.Tensor]) -> None:
        """Copy host values into the parameters and every replica's buffers."""
        self.version += 1
        with torch.no_grad():
            for name, value in values.items():
                if name in self.parameters:
                    self.parameters[name].copy_(value)
                else:
                    for buffers in self.buffers:
                        if name in buffers:
                            buffers[name].copy_(value)

    def accumulators_of(self, replica: int) -> list[torch.Tensor]:
        """Where the gradients of one replica are summed."""
        if not self._groupings:
            return self.accumulators
        named = zip(self._program.interface.gradients, self.accumulators, strict=True)
        return [self._of_group(name, accumulator, replica) for name, accumulator in named]

    def _of_group(self, name: str, tensor: torch.Tensor, replica: int) -> torch.Tensor:
        """The part of a parameter's tensor that belongs to the group of a replica."""
        grouping = self._groupings.get(name)
        if grouping is None:
            return tensor
        return tensor[grouping.group_of(replica, self._program.loops.replicas)]

    def written(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every tensor that a step may write, with a word for its kind."""
        for tensor in self.trained:
            yield "weights", tensor
        for buffers in self.buffers:
            for name in sorted(self._program.mutated_buffers & buffers.keys()):
                yield "buffers", buffers[name]
        # a model may also write to its parameters itself
        for name in sorted(self._program.mutated_buffers & self.parameters.keys()):
            yield "buffers", self.parameters[name]
        if self.training is not None:
            for name, tensor in self.training.state.items():
                yield name.partition("___")[0], tensor
        for tensor in self.accumulators:
            yield "accumulators", tensor

    def _fresh_buffers(self, state: Mapping[str, torch.Tensor]) -> list[dict[str, torch.Tensor]]:
        shared = {name: _own(state[name]) for name in self._program.interface.buffers}
        replicas = [shared]
        for _ in range(1, self._program.loops.replicas):
            own = {
                name: tensor.clone() if name in self._program.mutated_buffers else tensor
                for name, tensor in shared.items()
            }
            replicas.append(own)
        return replicas

    def _arguments_of(self, replica: int) -> list[torch.Tensor]:
        """The step graph's parameters and buffers as one replica sees them."""
        parameters = [self._of_group(name, tensor, replica) for name, tensor in self.parameters.items()]
        return parameters + [self.buffers[replica][name] for name in self._program.interface.buffers]


def _own(tensor: torch.Tensor) -> torch.Tensor:
    """A copy that keeps the order in memory."""
    return tensor.detach().clone(memory_format=torch.preserve_format)
