"""What programs name beside tensors: streams, remote buffers, functions, functions of the host."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tremula.frontends.poplar.types import Type

if TYPE_CHECKING:
    from tremula.frontends.poplar.program.programs import Program


@dataclass(frozen=True, eq=False)
class DataStream:
    """A stream of elements between host and device."""

    handle: str
    type: Type
    elements: int  #: of one transfer
    to_device: bool
    #: whether each replica has a stream of its own (REPLICATE), or all get the same (BROADCAST)
    replicated: bool = True
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RemoteBuffer:
    """Memory outside the chip: `rows` of `elements` each, for every replica."""

    handle: str
    type: Type
    elements: int
    rows: int
    rearrange_on_host: bool = False
    optimise_memory: bool = False


@dataclass(frozen=True, eq=False)
class Function:
    """A program that may be called from several places."""

    number: int
    program: Program
    name: str = ""


@dataclass(frozen=True, eq=False)
class HostFunction:
    """A function of the host: the types and sizes of what it gets and gives."""

    handle: str
    inputs: tuple[tuple[Type, int], ...]
    outputs: tuple[tuple[Type, int], ...]
