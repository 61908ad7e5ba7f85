"""The program as flat lists: ops and tensors by number, in the order in which a step runs them.

Schedule and memory go over tens of thousands of ops several times; numbers and tuples keep that linear and
quick. Here the three graphs of a program become one: the step's gradients are what accumulation reads, its
accumulators are what the update reads. Views and in-place results name the tensor whose storage they share,
and the ops of accumulation and update go to the IPU of the parameter that they change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tremula.program.loops import Loops
from tremula.program.op import Op, Phase
from tremula.program.tensor import Tensor


@dataclass
class Program:
    """All ops and tensors of a step."""

    ops: list[Op]
    tensors: list[Tensor]
    training: bool = False
    loops: Loops = Loops()
    #: numbers of the tensors that the host sends and fetches per micro-batch
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    #: parameters that are trained, with their gradients of a micro-batch and what carries them to the update (the
    #: accumulators, or the gradients themselves), in the same order
    trained: tuple[int, ...] = ()
    gradients: tuple[int, ...] = ()
    carried: tuple[int, ...] = ()
    #: samples in a micro-batch
    samples: int = 1
    _by_phase: dict[Phase, list[int]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for number, tensor in enumerate(self.tensors):
            if tensor.storage < 0:
                tensor.storage = number

    def without_accumulation(self) -> Program:
        """The same with every gradient going straight to the update, as with one micro-batch per step."""
        if self.carried == self.gradients:
            return self
        tensors = list(self.tensors)
        for gradient, accumulator in zip(self.gradients, self.carried, strict=True):
            storage = tensors[gradient].storage
            source = tensors[storage]
            tensors[accumulator] = replace(
                tensors[accumulator], kind=source.kind, bytes=0, storage=storage, producer=source.producer
            )
        return replace(
            self,
            ops=[op for op in self.ops if op.phase is not Phase.ACCUMULATE],
            tensors=_renumbered(self.ops, tensors),
            carried=self.gradients,
            _by_phase=None,
        )

    def of_phase(self, phase: Phase) -> list[int]:
        """Numbers of the ops of `phase`, in order."""
        if self._by_phase is None:
            self._by_phase = {each: [] for each in Phase}
            for number, op in enumerate(self.ops):
                self._by_phase[op.phase].append(number)
        return self._by_phase[phase]

    @property
    def forward_stages(self) -> int:
        """Pipeline stages of the forward pass."""
        return 1 + max((self.ops[n].stage for n in self.of_phase(Phase.FORWARD)), default=0)

    @property
    def ipus(self) -> int:
        """IPUs that the ops name, gaps included."""
        return 1 + max((op.ipu for op in self.ops), default=0)

    def bytes_of(self, tensors: Sequence[int]) -> int:
        """Bytes of the storages behind `tensors`, each counted once."""
        return sum(self.tensors[n].bytes for n in {self.tensors[t].storage for t in tensors})


def _renumbered(ops: Sequence[Op], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Tensors whose producers count without the ops of accumulation."""
    numbers: dict[int, int] = {}
    for number, op in enumerate(ops):
        if op.phase is not Phase.ACCUMULATE:
            numbers[number] = len(numbers)
    return [
        replace(tensor, producer=numbers.get(tensor.producer, -1)) if tensor.producer >= 0 else tensor
        for tensor in tensors
    ]
