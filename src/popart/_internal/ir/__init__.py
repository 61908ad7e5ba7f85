"""The names of PopART's graph that PopXL programs, `popxl_addons` and tests use."""

from __future__ import annotations

from popart import (
    AdamMode,
    CommGroup,
    CommGroupType,
    DataType,
    InitType,
    OptimizerValue,
    ReductionType,
    ReplicatedTensorSharding,
    ScatterReduction,
    TensorLocation,
    TensorStorage,
    TileSet,
)

from ..._enums import CollectiveOperator
from .. import errors as _errors
from . import op as op
from . import patterns as patterns
from . import transforms as transforms
from . import view as view
from ._enums import (
    AccumulationType,
    CodeLocation,
    ExecutionContext,
    ExpectedConnectionType,
    FloatFormat,
    TensorType,
)
from ._float8 import (
    calculateScaleFromFloat16ToFloat8,
    calculateScaleFromFloat32ToFloat8,
    convertFromFloat8AsUInt8ToFloat16,
    convertFromFloat8AsUInt8ToFloat32,
    convertFromFloat8AsUInt8ToFloat64,
    convertFromFloat16ToFloat8AsUInt8,
    convertFromFloat32ToFloat8AsUInt8,
    convertFromFloat64ToFloat8AsUInt8,
)
from ._graph import Graph, Ir, TopoCons, addScope, removeScope
from ._ops import Op
from ._tensors import GraphId, Settings, Tensor
from ._values import (
    BwdGraphInfo,
    ExpectedConnection,
    NumInputs,
    OperatorIdentifier,
    OptionalDataType,
    OptionalFloat,
    OptionalInt,
    OptionalInt64Vector,
    OptionalTensors,
    OptionalVGraphId,
    PrintTensorFmt,
    ReplicaGrouping,
    TensorInfo,
)

__all__ = [
    "AccumulationType",
    "AdamMode",
    "BwdGraphInfo",
    "CodeLocation",
    "CollectiveOperator",
    "CommGroup",
    "CommGroupType",
    "DataType",
    "ExecutionContext",
    "ExpectedConnection",
    "ExpectedConnectionType",
    "FloatFormat",
    "Graph",
    "GraphId",
    "InitType",
    "Ir",
    "NumInputs",
    "Op",
    "OperatorIdentifier",
    "OptimizerValue",
    "OptionalDataType",
    "OptionalFloat",
    "OptionalInt",
    "OptionalInt64Vector",
    "OptionalTensors",
    "OptionalVGraphId",
    "PrintTensorFmt",
    "ReductionType",
    "ReplicaGrouping",
    "ReplicatedTensorSharding",
    "ScatterReduction",
    "Settings",
    "Tensor",
    "TensorInfo",
    "TensorLocation",
    "TensorStorage",
    "TensorType",
    "TileSet",
    "TopoCons",
    "addScope",
    "calculateScaleFromFloat16ToFloat8",
    "calculateScaleFromFloat32ToFloat8",
    "convertFromFloat8AsUInt8ToFloat16",
    "convertFromFloat8AsUInt8ToFloat32",
    "convertFromFloat8AsUInt8ToFloat64",
    "convertFromFloat16ToFloat8AsUInt8",
    "convertFromFloat32ToFloat8AsUInt8",
    "convertFromFloat64ToFloat8AsUInt8",
    "removeScope",
]
del _errors
