"""A program in another size or precision than its own, and what its capture says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tremula.program.op import Placement, SourceLine
from tremula.program.stages import StageSummary


@dataclass(frozen=True)
class Variant:
    """What a capture depends on; by default the program as it is."""

    #: samples; None: as the program has it
    micro_batch: int | None = None
    #: fp32 or fp16; None: as the program has it
    precision: str | None = None
    #: captured with the program's own blocks, and not in segments: phases cannot be laid out afterwards
    own_blocks: bool = False


@dataclass(frozen=True)
class Cut:
    """A place at which a stage can begin."""

    #: the first segment of the stage, counted among those that have ops
    segment: int
    #: dotted path of the module whose call begins it
    module: str


class StageStart(NamedTuple):
    """A stage after the first: the module whose call begins it, and its IPU."""

    module: str
    ipu: int


@dataclass(frozen=True)
class UnknownOp:
    """An op that the device's compiler is not known to support, and the lines that use it, in program order."""

    name: str
    sources: tuple[SourceLine, ...]

    def __str__(self) -> str:
        if not self.sources:
            return self.name
        more = f" and {len(self.sources) - 1} more lines" if len(self.sources) > 1 else ""
        return f"{self.name}, at {self.sources[0]}{more}"


@dataclass(frozen=True)
class CapturedVariant:
    """A program in segments: where it can be cut, and where its own blocks put it."""

    cuts: tuple[Cut, ...]
    #: the stages of the program's own blocks
    stages: StageSummary | None
    #: where the program's own blocks put each segment
    own: tuple[Placement, ...]
    unknown: tuple[UnknownOp, ...]


@dataclass(frozen=True)
class InputType:
    """Shape and dtype name (float32, int32 ...) of one input of a micro-batch."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int

    @property
    def is_floating_point(self) -> bool:
        """Whether it holds fractions."""
        return self.dtype.startswith(("float", "bfloat"))
