"""Poplar programs in Python: variables on tiles, vertices, compute sets and an engine, with the names of C++.

`docs/poplar.md` describes the interface.
"""

from __future__ import annotations

from tremula.frontends.poplar.codelets.python_classes import (
    InOut,
    Input,
    MultiVertex,
    Output,
    SupervisorVertex,
    Vector,
    VectorLayout,
    VectorList,
    VectorListLayout,
    Vertex,
)
from tremula.frontends.poplar.graph.connect import FieldRef, VertexRef
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.program.endpoints import DataStream, Function, HostFunction, RemoteBuffer
from tremula.frontends.poplar.types import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONG,
    LONGLONG,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_LONG,
    UNSIGNED_LONGLONG,
    UNSIGNED_SHORT,
    Type,
)
from tremula.settings.shims import STACK_VERSION

from . import program
from ._cycles import cycleCount, cycleStamp
from ._engine import Engine, Executable, LegacyStreamCallback, StreamCallback, compileGraph
from ._enums import (
    CodeletFileType,
    RelativeSyncDelayType,
    ReplicatedStreamMode,
    SyncType,
    TargetType,
    TensorCloneMethod,
    UpsampleMethod,
    VariableMappingMethod,
)
from ._exceptions import *
from ._exceptions import __all__ as _exceptions
from ._graph import Graph
from ._half import copyDeviceHalfToFloat, copyFloatToDeviceHalf
from ._print_format import PrintTensorFmt
from ._registers import FloatingPointBehaviour, setFloatingPointBehaviour, setStochasticRounding
from ._target import Device, DeviceManager, IPUModel, Target
from ._tensor import Interval, Tensor, VariableInterval, append, concat
from .program import *
from .program import __all__ as _programs

__version__ = STACK_VERSION


def versionString() -> str:
    """The version of the stack that this package replaces."""
    return STACK_VERSION


def packageHash() -> str:
    """A text that identifies this package."""
    return "tremula"


__all__ = [
    *_exceptions,
    *_programs,
    "BOOL",
    "CHAR",
    "FLOAT",
    "HALF",
    "INT",
    "LONG",
    "LONGLONG",
    "SHORT",
    "SIGNED_CHAR",
    "UNSIGNED_CHAR",
    "UNSIGNED_INT",
    "UNSIGNED_LONG",
    "UNSIGNED_LONGLONG",
    "UNSIGNED_SHORT",
    "CodeletFileType",
    "ComputeSet",
    "DataStream",
    "Device",
    "DeviceManager",
    "Engine",
    "Executable",
    "FieldRef",
    "FloatingPointBehaviour",
    "Function",
    "Graph",
    "HostFunction",
    "IPUModel",
    "InOut",
    "Input",
    "Interval",
    "LegacyStreamCallback",
    "MultiVertex",
    "Output",
    "PrintTensorFmt",
    "RelativeSyncDelayType",
    "RemoteBuffer",
    "ReplicatedStreamMode",
    "StreamCallback",
    "SupervisorVertex",
    "SyncType",
    "Target",
    "TargetType",
    "Tensor",
    "TensorCloneMethod",
    "Type",
    "UpsampleMethod",
    "VariableInterval",
    "VariableMappingMethod",
    "Vector",
    "VectorLayout",
    "VectorList",
    "VectorListLayout",
    "Vertex",
    "VertexRef",
    "append",
    "compileGraph",
    "concat",
    "copyDeviceHalfToFloat",
    "copyFloatToDeviceHalf",
    "cycleCount",
    "cycleStamp",
    "packageHash",
    "program",
    "setFloatingPointBehaviour",
    "setStochasticRounding",
    "versionString",
]
