"""What a node of the program tree or an execution step is, by the names that the original's reports use."""

from __future__ import annotations

import enum


class ProgramType(enum.IntEnum):
    """Kinds of programs; the numbers are of this file format."""

    Unknown = 0
    Sequence = 1
    Repeat = 2
    RepeatWhile = 3
    If = 4
    Switch = 5
    OnEveryTileSwitch = 6
    OnTileExecute = 7
    DoExchange = 8
    GlobalExchange = 9
    StreamCopyBegin = 10
    StreamCopyMid = 11
    StreamCopyEnd = 12
    Sync = 13
    SyncAns = 14
    Sans = 15
    Call = 16
    WriteUndef = 17
    SetLocalConsensusFromVar = 18


#: types by what their cycles count as in a pyramid
COMPUTE = frozenset({ProgramType.OnTileExecute})
EXCHANGE = frozenset({ProgramType.DoExchange, ProgramType.GlobalExchange})
STREAM = frozenset({ProgramType.StreamCopyBegin, ProgramType.StreamCopyMid, ProgramType.StreamCopyEnd})
#: all others: waiting
#: types that only run other programs: a step of one stands for many
CONTROL = frozenset(
    {
        ProgramType.Sequence, ProgramType.Repeat, ProgramType.RepeatWhile, ProgramType.If, ProgramType.Switch,
        ProgramType.OnEveryTileSwitch, ProgramType.Call,
    }
)  # fmt: skip
