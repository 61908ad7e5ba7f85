"""Enumerations that only the graph's bindings have. Those that PopART itself has are in `popart._enums`."""

from __future__ import annotations

from popart._enums import PopartEnum


class TensorType(PopartEnum):
    """Where the value of a tensor comes from."""

    ActGrad = 0
    Const = 1
    Stream = 2
    Unknown = 3
    Variable = 4


class ExecutionContext(PopartEnum):
    """When an op runs."""

    Normal = 0
    AccumulateOuterFragment = 1
    WeightsFromHostFragment = 2
    WeightsToHostFragment = 3
    OptimizerFromHostFragment = 4
    Subgraph = 5


class ExpectedConnectionType(PopartEnum):
    """What an input or output of a backward graph is."""

    Fwd = 0
    FwdGrad = 1


class AccumulationType(PopartEnum):
    """How a value is added to an accumulator."""

    Add = 0
    DampenedAdd = 1
    DampenedAddSquare = 2
    DecayAdd = 3
    DecayAddSquare = 4
    MovingAverage = 5
    MovingAverageSquare = 6
    Infinity = 7
    Mean = 8


class CodeLocation(PopartEnum):
    """Where code lies."""

    Undefined = 0
    Buffer = 1
    ExecutableMemory = 2


class FloatFormat(PopartEnum):
    """How numbers are printed."""

    Auto = 0
    Fixed = 1
    Scientific = 2
    None_ = 3
