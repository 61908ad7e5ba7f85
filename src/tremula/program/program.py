"""A program of no framework: ops and tensors by number, in the order in which a step runs them.

Every front end makes one, and the chip model reads it. Schedule and memory go over tens of thousands of ops several
times; numbers and tuples keep that linear and quick. Views and in-place results name the tensor whose storage they
share. Programs that say more than one step after the other have a control tree (control.py); those that place their
own data and vertices have tile mappings (tiles.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tremula.program.control import Control, renumbered
from tremula.program.loops import Loops
from tremula.program.op import Op, Phase
from tremula.program.tensor import Tensor
from tremula.program.tiles import TileInterval, Vertex


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
    #: the order in which ops run, if it is not simply that of the list; `functions` are what it calls
    control: Control | None = None
    functions: Mapping[str, Control] = field(default_factory=dict)
    #: where the elements of a tensor lie, by the tensor's number, if the program says so
    mappings: Mapping[int, tuple[TileInterval, ...]] = field(default_factory=dict)
    vertices: tuple[Vertex, ...] = ()
    #: what the front end's executor needs to run it; of no interest to anybody else, and never in a file
    payload: Any = field(default=None, repr=False, compare=False)
    _by_phase: dict[Phase, list[int]] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for number, tensor in enumerate(self.tensors):
            if tensor.storage < 0:
                tensor.storage = number

    def without_accumulation(self) -> Program:
        """The same with every gradient going straight to the update, as with one micro-batch per step."""
        if self.carried == self.gradients:
            return self
        numbers = _numbers_without_accumulation(self.ops)
        tensors = list(self.tensors)
        for gradient, accumulator in zip(self.gradients, self.carried, strict=True):
            storage = tensors[gradient].storage
            source = tensors[storage]
            tensors[accumulator] = replace(
                tensors[accumulator], role=source.role, bytes=0, storage=storage, producer=source.producer
            )
        return replace(
            self,
            ops=[op for op in self.ops if op.phase is not Phase.ACCUMULATE],
            tensors=_renumbered(tensors, numbers),
            carried=self.gradients,
            control=None if self.control is None else renumbered(self.control, numbers),
            functions={name: renumbered(each, numbers) for name, each in self.functions.items()},
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


def _numbers_without_accumulation(ops: Sequence[Op]) -> dict[int, int]:
    """The numbers that ops have without those of accumulation, by the numbers that they have now."""
    numbers: dict[int, int] = {}
    for number, op in enumerate(ops):
        if op.phase is not Phase.ACCUMULATE:
            numbers[number] = len(numbers)
    return numbers


def _renumbered(tensors: Sequence[Tensor], numbers: Mapping[int, int]) -> list[Tensor]:
    """Tensors whose producers have other numbers."""
    return [
        replace(tensor, producer=numbers.get(tensor.producer, -1)) if tensor.producer >= 0 else tensor
        for tensor in tensors
    ]
