"""PopXL: programs for IPUs as graphs that are written by hand. The graphs run on torch; see docs/popxl.md."""

from __future__ import annotations

from . import _addon_bindings, dtypes, errors, fp8_utils, ops, random_seed, transforms, utils
from .context import (
    get_current_graph,
    get_ir,
    get_main_graph,
    in_sequence,
    io_tiles,
    ipu,
    name_scope,
)
from .dtypes import (
    bool,
    complex64,
    complex128,
    double,
    dtype,
    float,
    float8_143,
    float8_152,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .graph import Graph
from .ir import Ir
from .module import Module
from .ops.call import CallSiteInfo
from .random_seed import create_seeds
from .remote_buffer import RemoteBuffer, remote_buffer
from .replica_grouping import ReplicaGrouping
from .session import Session
from .streams import DeviceToHostStream, HostToDeviceStream, d2h_stream, h2d_stream
from .tensor import (
    Constant,
    HostScalarTensor,
    HostTensor,
    ScalarType,
    Tensor,
    TensorByRef,
    TensorLike,
    TensorSpec,
    Variable,
    constant,
    graph_input,
    graph_output,
    remote_replica_sharded_variable,
    remote_variable,
    replica_sharded_buffer,
    replica_sharded_variable,
    variable,
)
from .tensorlocation import TensorLocation
from .transforms import GradGraphInfo, io_tile_exchange, merge_exchange
from .utils import to_numpy

gcg = get_current_graph
gmg = get_main_graph
gir = get_ir

__all__ = [
    "CallSiteInfo",
    "Constant",
    "DeviceToHostStream",
    "GradGraphInfo",
    "Graph",
    "HostScalarTensor",
    "HostTensor",
    "HostToDeviceStream",
    "Ir",
    "Module",
    "RemoteBuffer",
    "ReplicaGrouping",
    "ScalarType",
    "Session",
    "Tensor",
    "TensorByRef",
    "TensorLike",
    "TensorLocation",
    "TensorSpec",
    "Variable",
    "bool",
    "complex64",
    "complex128",
    "constant",
    "create_seeds",
    "d2h_stream",
    "double",
    "dtype",
    "dtypes",
    "errors",
    "float",
    "float8_143",
    "float8_152",
    "float16",
    "float32",
    "float64",
    "fp8_utils",
    "gcg",
    "get_current_graph",
    "get_ir",
    "get_main_graph",
    "gir",
    "gmg",
    "graph_input",
    "graph_output",
    "h2d_stream",
    "half",
    "in_sequence",
    "int8",
    "int16",
    "int32",
    "int64",
    "io_tile_exchange",
    "io_tiles",
    "ipu",
    "merge_exchange",
    "name_scope",
    "ops",
    "random_seed",
    "remote_buffer",
    "remote_replica_sharded_variable",
    "remote_variable",
    "replica_sharded_buffer",
    "replica_sharded_variable",
    "to_numpy",
    "transforms",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "utils",
    "variable",
]

_addon_bindings.install()
