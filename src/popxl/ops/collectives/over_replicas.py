"""Collectives over replicas."""

from __future__ import annotations

import math
from typing import Any, Literal

from ...context import gcg
from ...replica_grouping import ReplicaGrouping
from ...tensor import Tensor
from .._create import create
from .collectives import CollectiveOps, to_collective_op


def _attributes(group: ReplicaGrouping | None, **others: Any) -> dict[str, Any]:
    chosen = gcg().ir.replica_grouping() if group is None else group
    return {"assignment": chosen._pb_replica_grouping.assignment, **others}


def replicated_all_reduce(
    t: Tensor, op: CollectiveOps = "add", group: ReplicaGrouping | None = None
) -> Tensor:
    """The reduced tensor on all replicas of a group."""
    to_collective_op(op)
    return create("ReplicatedAllReduce", {"t": t}, f"{t.name}_all_reduce", _attributes(group, op=op))


def replicated_all_reduce_(
    t: Tensor, op: CollectiveOps = "add", group: ReplicaGrouping | None = None
) -> Tensor:
    """Reduce a tensor over replicas, in place."""
    to_collective_op(op)
    return create("ReplicatedAllReduceInplace", {"t": t}, f"{t.name}_all_reduce", _attributes(group, op=op))


def _scatter(t: Tensor, op: str, group: ReplicaGrouping | None, sharding: bool, name: str) -> Tensor:
    attributes = _attributes(group, op=op, for_sharding=sharding)
    return create("ReplicatedReduceScatter", {"t": t}, name, attributes)


def replicated_reduce_scatter(
    t: Tensor,
    op: CollectiveOps = "add",
    group: ReplicaGrouping | None = None,
    configure_output_for_replicated_tensor_sharding: bool = False,
) -> Tensor:
    """A part of the reduced tensor on each replica of a group."""
    to_collective_op(op)
    name = f"{t.name}_reduce_scattered"
    return _scatter(t, op, group, configure_output_for_replicated_tensor_sharding, name)


def replica_sharded_slice(t: Tensor, group: ReplicaGrouping | None = None) -> Tensor:
    """A part of each replica's own tensor, as a shard of it."""
    return _scatter(t, "local", group, True, f"{t.name}_sharded_slice")


def _first(t: Tensor, axis: int) -> Tensor:
    """`t` with `axis` in front."""
    if not axis:
        return t
    return t.transpose([axis, *(dim for dim in range(t.rank) if dim != axis)])


def _back(t: Tensor, axis: int) -> Tensor:
    """`t` with its first axis at `axis`."""
    if not axis:
        return t
    order = list(range(1, t.rank))
    order.insert(axis, 0)
    return t.transpose(order)


def replicated_slice(t: Tensor, axis: int = 0, group: ReplicaGrouping | None = None) -> Tensor:
    """An equal part of each replica's own tensor along an axis; a part of one element has no such axis."""
    size = (gcg().ir.replica_grouping() if group is None else group).group_size
    if t.shape[axis] % size:
        raise ValueError(
            f"The {t.shape[axis]} elements of axis {axis} cannot be divided among {size} replicas."
        )
    part = t.shape[axis] // size
    rest = [each for dim, each in enumerate(t.shape) if dim != axis]
    sliced = _scatter(_first(t, axis).flatten(), "local", group, False, f"{t.name}_replicated_slice")
    if part == 1:
        return sliced.reshape(rest)
    return _back(sliced.reshape([part, *rest]), axis)


def replicated_all_gather(
    t: Tensor,
    axis: int = 0,
    group: ReplicaGrouping | None = None,
    output_shape: Literal["new_axis", "concat", "meta_shape", "auto"] = "auto",
) -> Tensor:
    """The tensors of all replicas of a group: joined, stacked, or as the whole that they are shards of."""
    if not isinstance(axis, int):
        raise ValueError(f"The axis must be an integer, not {axis!r}.")
    if output_shape not in ("new_axis", "concat", "meta_shape", "auto"):
        raise ValueError(
            f"output_shape is 'new_axis', 'concat', 'meta_shape' or 'auto', not {output_shape!r}."
        )
    if output_shape == "auto":
        output_shape = "meta_shape" if t.meta_shape else "concat"
    size = (gcg().ir.replica_grouping() if group is None else group).group_size
    name = f"{t.name}_all_gathered"
    if output_shape == "meta_shape":
        return create("ReplicatedAllGather", {"t": t}, name, _attributes(group, shape=t.meta_shape))
    if output_shape == "new_axis":
        gathered = create("ReplicatedAllGather", {"t": t}, name, _attributes(group, shape=(size, *t.shape)))
        return _back(gathered, axis)
    turned = _first(t, axis) if t.rank else t.reshape((1,))
    shape = (turned.shape[0] * size, *turned.shape[1:])
    flat = turned.flatten()
    gathered = create("ReplicatedAllGather", {"t": flat}, name, _attributes(group, shape=(math.prod(shape),)))
    return _back(gathered.reshape(shape), axis)
