"""The protocol of a program that is compiled and loaded. `Tensor` is the front end's own type of arrays; the device's
parameters and buffers change only through `run` and the methods that write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from tremula.telemetry.run_record import FormReport

Tensor = TypeVar("Tensor")

#: called with how much of a compilation is done (0 to 1)
Progress = Callable[[float], None]


@dataclass
class TurnTimes:
    """Host clock readings (seconds) of each turn of the loops during the last call."""

    started: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class OptimizerState(Generic[Tensor]):
    """What an optimizer keeps on the device: tensors of its own and hyperparameters, by name."""

    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    parameters: Mapping[str, Tensor] = field(default_factory=dict)


class Executable(Protocol[Tensor]):
    """Runs a program and holds its state."""

    #: of the last call
    times: TurnTimes

    @property
    def waits(self) -> bool:
        """Whether nothing may run before `prepare` is done."""

    @property
    def report(self) -> FormReport:
        """Figures about compiled code, filled while the program runs."""

    def prepare(self, micro_batch: Sequence[Tensor], progress: Progress | None = None) -> None:
        """Compile ahead, for inputs with the shapes of `micro_batch`."""

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """One host call on a combined batch: the outputs, then the anchored tensors."""

    def read_state(self) -> Mapping[str, Tensor]:
        """Parameters and the first replica's buffers; not copies."""

    def write_state(self, values: Mapping[str, Tensor]) -> None:
        """Copy host values into parameters and every replica's buffers."""

    def read_optimizer(self) -> OptimizerState[Tensor]:
        """Copies of the optimizer's state; empty where nothing is trained."""

    def write_optimizer(self, state: OptimizerState[Tensor]) -> list[str]:
        """Take over an optimizer's state; the names of tensors that `state` lacks, or has in another shape."""

    def random_words(self) -> list[int]:
        """The random state as whole numbers, the seed first."""

    def restore_random(self, words: Sequence[int]) -> None:
        """Take over what `random_words` returned earlier; a seed alone restarts the streams."""
