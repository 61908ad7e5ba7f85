"""Enumerations of reports. Names are the original's, and so are the numbers of the two instrumentation levels."""

from __future__ import annotations

import enum
from collections import defaultdict

from tremula.profile.program_types import ProgramType as ProgramType

#: types of programs by their number; a number of a later version is none that is known
PROGRAM_TYPES = defaultdict(lambda: ProgramType.Unknown, {int(each): each for each in ProgramType})
#: types of programs that exchange data
EXCHANGES = frozenset(
    {
        ProgramType.DoExchange,
        ProgramType.GlobalExchange,
        ProgramType.StreamCopyBegin,
        ProgramType.StreamCopyMid,
        ProgramType.StreamCopyEnd,
    }
)


class ComputeInstrumentationLevel(enum.IntEnum):
    """How finely the cycles of compute sets were recorded."""

    Off = 0
    Vertex = 1
    Tile = 2
    Ipu = 3
    Device = 4
    Unknown = 5


class ExternalExchangeInstrumentationLevel(enum.IntEnum):
    """How finely the cycles of exchanges beyond the chip were recorded."""

    Off = 0
    Tile = 1
    Unknown = 2


class TargetType(enum.IntEnum):
    """The target that the program was compiled for."""

    Ipu = 0
    IpuModel = 1
    Cpu = 2
    Unknown = 3


class Architecture(enum.IntEnum):
    """The generation of the chip."""

    Ipu1 = 0
    Ipu2 = 1
    Ipu21 = 2
    Unknown = 3


class ProfilerMode(enum.IntEnum):
    """The source of the cycles of an execution."""

    NONE = 0
    CPU = 1
    IPU_MODEL = 2
    COMPUTE_SETS = 3
    SINGLE_TILE_COMPUTE_SETS = 4
    VERTICES = 5
    EXTERNAL_EXCHANGES = 6
    HOST_EXCHANGES = 7
