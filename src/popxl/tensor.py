"""Tensors: values of graphs, variables and constants."""

from __future__ import annotations

from ._tensor_classes import (
    Constant,
    HostScalarTensor,
    HostTensor,
    RetrievalMode,
    ScalarType,
    Tensor,
    TensorLike,
    TensorSpec,
    Variable,
    host_tensor_types,
)
from ._variables import (
    constant,
    graph_input,
    graph_output,
    remote_replica_sharded_variable,
    remote_variable,
    replica_sharded_buffer,
    replica_sharded_variable,
    variable,
)
from .typing_ import NewAliasAnnotation

TensorByRef = NewAliasAnnotation("TensorByRef", Tensor)

__all__ = [
    "Constant",
    "HostScalarTensor",
    "HostTensor",
    "RetrievalMode",
    "ScalarType",
    "Tensor",
    "TensorByRef",
    "TensorLike",
    "TensorSpec",
    "Variable",
    "constant",
    "graph_input",
    "graph_output",
    "host_tensor_types",
    "remote_replica_sharded_variable",
    "remote_variable",
    "replica_sharded_buffer",
    "replica_sharded_variable",
    "variable",
]
