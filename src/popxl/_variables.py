"""Variables, constants, inputs and outputs of graphs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import popart
import popart._internal.ir as _ir
from tremula.frontends.popxl.info import TensorInfo, TensorKind
from tremula.frontends.popxl.model import VariableSettings

from . import dtypes
from ._tensor_classes import Constant, HostScalarTensor, RetrievalMode, Tensor, Variable, _ops
from .context import _execution_context, gcg, get_main_graph, gmg
from .replica_grouping import ReplicaGrouping
from .utils import to_numpy

if TYPE_CHECKING:
    from .remote_buffer import RemoteBuffer


def _all_replicas(mode: str | None) -> bool:
    if mode not in (None, "one_per_group", "all_replicas"):
        raise ValueError(f"retrieval_mode must be 'one_per_group' or 'all_replicas', not {mode!r}.")
    return mode == "all_replicas"


def variable(
    data: HostScalarTensor,
    dtype: dtypes.dtype | None = None,
    name: str | None = None,
    downcast: bool = True,
    replica_grouping: ReplicaGrouping | None = None,
    retrieval_mode: RetrievalMode | None = None,
    log2_scale: int | None = None,
    nan_on_overflow: bool | None = None,
) -> Variable:
    """A variable of the main graph with the initial value `data`. With several groups of replicas, they are the first
    dimension."""
    graph = gcg()
    if graph != gmg():
        raise ValueError(
            "A variable can only be created in the main graph. In another graph, use popxl.graph_input and pass the "
            "variable when you call the graph, or use popxl.constant."
        )
    ir = graph.ir
    mapped = isinstance(data, np.memmap)
    ir._has_read_only_memmap |= isinstance(data, np.memmap) and not data.flags.writeable
    if mapped and replica_grouping is not None and not replica_grouping.is_const:
        popart.getLogger().warn(
            f"For the variable {name or 't'} you have passed np.memmap data and a non-const replica grouping: values "
            "are copied for each replica."
        )
    array = to_numpy(data, dtype, downcast, True, log2_scale, nan_on_overflow)
    grouping = replica_grouping or ir.replica_grouping()
    shape = _shape_on_replica(array, grouping)
    element = dtype or dtypes.dtype.as_dtype(array)
    pb_tensor = graph._pb_graph.add_tensor(
        graph._create_tensor_id(name), TensorInfo(element.name, shape), TensorKind.VARIABLE
    )
    pb_tensor.data = array
    pb_tensor.settings = VariableSettings(tuple(grouping.assignment), _all_replicas(retrieval_mode))
    made = cast(Variable, Tensor._from_pb_tensor(cast(Any, pb_tensor)))
    made._replica_grouping = grouping
    made._memmap_arr = data if isinstance(data, np.memmap) else None
    return made


def _shape_on_replica(array: np.ndarray, grouping: ReplicaGrouping) -> tuple[int, ...]:
    groups = grouping.num_groups
    if groups == 1:
        return tuple(array.shape)
    if not array.shape or array.shape[0] != groups:
        raise ValueError(
            f"The data of the shape {array.shape} must have {groups} in front: one value for each group of {grouping}."
        )
    return tuple(array.shape[1:])


def _check_remote(made: Variable, remote_buffer: RemoteBuffer, offset: int, shape: tuple[int, ...]) -> None:
    if made.shape != shape or made.dtype != remote_buffer.tensor_dtype:
        raise ValueError(
            f"The variable has the shape {made.shape} and type {made.dtype}, but the remote buffer "
            f"{remote_buffer.remote_buffer_id} has {shape} and {remote_buffer.tensor_dtype}."
        )


def remote_variable(
    data: HostScalarTensor,
    remote_buffer: RemoteBuffer,
    offset: int = 0,
    dtype: dtypes.dtype | None = None,
    name: str | None = None,
    downcast: bool = True,
    replica_grouping: ReplicaGrouping | None = None,
    retrieval_mode: RetrievalMode | None = "one_per_group",
    log2_scale: int | None = None,
    nan_on_overflow: bool | None = None,
) -> Variable:
    """A variable in an entry of a remote buffer."""
    made = variable(
        data, dtype, name, downcast, replica_grouping, retrieval_mode, log2_scale, nan_on_overflow
    )
    settings = made._pb_tensor.settings
    settings.remote_buffer, settings.remote_offset = remote_buffer.remote_buffer_id, offset
    return made


def remote_replica_sharded_variable(
    data: HostScalarTensor,
    remote_buffer: RemoteBuffer,
    offset: int = 0,
    dtype: dtypes.dtype | None = None,
    name: str | None = None,
    downcast: bool = True,
    replica_grouping: ReplicaGrouping | None = None,
    retrieval_mode: RetrievalMode | None = "one_per_group",
    log2_scale: int | None = None,
    nan_on_overflow: bool | None = None,
) -> Variable:
    """A variable of which each replica has a part, in an entry of a remote buffer."""
    replicas = gcg().ir.replication_factor
    if replicas <= 1:
        raise ValueError(f"A sharded variable needs several replicas; the replication factor is {replicas}.")
    array = to_numpy(data, dtype, downcast, True, log2_scale, nan_on_overflow)
    several = replica_grouping is not None and replica_grouping.num_groups > 1
    shape = tuple(array.shape[1:]) if several else tuple(array.shape)
    if remote_buffer.meta_shape == ():
        remote_buffer.meta_shape = shape
    elif tuple(remote_buffer.meta_shape) != shape:
        raise ValueError(
            f"The remote buffer {remote_buffer.remote_buffer_id} is for shards of tensors of the shape "
            f"{remote_buffer.meta_shape}; the variable has {shape}."
        )
    made = remote_variable(
        array, remote_buffer, offset, dtype, name, downcast, replica_grouping, retrieval_mode
    )
    made._pb_tensor.settings.sharded = True
    return made


def replica_sharded_buffer(
    shape: tuple[int, ...],
    dtype: dtypes.dtype,
    replica_grouping: ReplicaGrouping | None = None,
    shard_over: int | None = None,
    entries: int = 1,
) -> RemoteBuffer:
    """A remote buffer for shards of tensors of `shape`. With several groups of replicas, they are the first
    dimension."""
    from .remote_buffer import remote_buffer

    grouping = (replica_grouping or gcg().ir.replica_grouping()).const_rg
    size = grouping.group_size
    shards = size if shard_over is None else shard_over
    if shards > size or size % shards:
        raise ValueError(
            f"A tensor can be sharded over a number of replicas that divides its group of {size}, not over {shards}."
        )
    inner = tuple(shape[1:]) if grouping.num_groups > 1 else tuple(shape)
    buffer = remote_buffer((-(-math.prod(inner) // shards),), dtype, entries)
    buffer.meta_shape = inner
    return buffer


def replica_sharded_variable(
    data: HostScalarTensor,
    dtype: dtypes.dtype | None = None,
    name: str | None = None,
    downcast: bool = True,
    replica_grouping: ReplicaGrouping | None = None,
    shard_over: int | None = None,
    retrieval_mode: RetrievalMode | None = "one_per_group",
    log2_scale: int | None = None,
    nan_on_overflow: bool | None = None,
) -> tuple[Variable, Tensor]:
    """A variable of which each replica has a part, and that part on the device."""
    array = to_numpy(data, dtype, downcast, True, log2_scale, nan_on_overflow)
    element = dtype or dtypes.dtype.as_dtype(array)
    buffer = replica_sharded_buffer(array.shape, element, replica_grouping, shard_over)
    made = remote_replica_sharded_variable(
        array, buffer, 0, dtype, name, downcast, replica_grouping, retrieval_mode
    )
    with get_main_graph():
        with _execution_context(_ir.ExecutionContext.WeightsFromHostFragment):
            shard = _ops().remote_load(buffer, 0, f"{made.name}_rts")
        with _execution_context(_ir.ExecutionContext.WeightsToHostFragment):
            _ops().remote_store(buffer, 0, shard)
    return made, shard


def constant(
    data: HostScalarTensor,
    dtype: dtypes.dtype | None = None,
    name: str | None = None,
    downcast: bool = True,
    log2_scale: int | None = None,
    nan_on_overflow: bool | None = None,
) -> Constant:
    """A constant of the current graph."""
    graph = gcg()
    float8 = (dtypes.np_dtype_float8_143, dtypes.np_dtype_float8_152)
    if isinstance(data, np.ndarray) and data.dtype in float8 and dtype is None:
        raise TypeError("A float8 constant needs a type: dtype=popxl.float8_143 or popxl.float8_152.")
    array = to_numpy(data, dtype, downcast, True, log2_scale, nan_on_overflow)
    element = dtype or dtypes.dtype.as_dtype(array)
    info = TensorInfo(element.name, tuple(array.shape))
    pb_tensor = graph._pb_graph.add_tensor(graph._create_tensor_id(name), info, TensorKind.CONST)
    pb_tensor.data = array
    return cast(Constant, Tensor._from_pb_tensor(cast(Any, pb_tensor)))


def graph_input(
    shape: Iterable[int],
    dtype: dtypes.dtype,
    name: str | None = None,
    by_ref: bool = False,
    meta_shape: Iterable[int] | None = None,
) -> Tensor:
    """Another input of the current graph; with `by_ref` callers see changes of it."""
    graph = gcg()
    info = TensorInfo(dtype.name, tuple(shape), tuple(meta_shape or ()))
    made = Tensor._from_pb_tensor(graph._pb_graph.add_input(graph._create_tensor_id(name), info))
    if by_ref:
        graph._by_ref_inputs.add(made)
    return made


def graph_output(t: Tensor) -> None:
    """Return a tensor from the current graph."""
    from .ops.utils import check_in_graph

    graph = gcg()
    check_in_graph(graph, t=t)
    graph._pb_graph.markAsOutput(t.id)
