"""Automatic sharding: spreads the ops of a graph over IPUs, as SDKs before 2.1 did (`ipu.autoshard`).

The ops from the inputs to the loss are cut, in their order, into as many runs as there are shards, so that the largest
run is as small as possible. The size of an op is that of its results and of the variables that it reads. Ops of a
backward pass that is built later are on the shard of their forward op. So are those of an earlier one that was built
with `colocate_gradients_with_ops=True`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow import scopes, sharding
from tremula.frontends.tensorflow.replicas.context import need_ipus


def automatic_sharding(
    num_shards: int,
    input_ts: Any,
    loss_ts: Any,
    edge_filter: Callable[[tuple[str, str]], bool] | None = None,
    frozen_inference: bool = False,
) -> None:
    """Put the ops between two tensors on `num_shards` IPUs.

    Args:
        num_shards: how many IPUs.
        input_ts: the tensor, or tensors, closest to the data.
        loss_ts: the tensor closest to the loss.
        edge_filter: of the names of two connected ops; where it gives True, the graph is not cut between them.
        frozen_inference: whether weights are constants; they are counted either way.

    Raises:
        ValueError: there are fewer ops than shards, or `loss_ts` does not depend on `input_ts`.
    """
    inputs = {tensor.op for tensor in tf.nest.flatten(input_ts)}
    ops = _between(inputs, loss_ts.op)
    kept = edge_filter or (lambda edge: False)
    runs = _joined(ops, kept)
    if num_shards < 1 or len(runs) < num_shards:
        raise ValueError(
            f"{len(ops)} ops from {sorted(op.name for op in inputs)} to {loss_ts.op.name} cannot be put on "
            f"{num_shards} shards. Ask for fewer shards, or name other tensors."
        )
    need_ipus(num_shards)
    for shard, part in enumerate(_balanced(runs, num_shards)):
        for op in part:
            scopes.shard_gradient(op)
            for placed in (op, *(tensor.op for tensor in op.inputs if tensor.op.type in _WEIGHTS)):
                placed._set_attr(sharding.ATTRIBUTE, sharding.attribute([shard]))
    sharding.propagate_sharding(loss_ts.graph)


#: ops that give weights
_WEIGHTS = frozenset({"ReadVariableOp", "VarHandleOp", "VariableV2", "Const"})


def _between(inputs: set[Any], loss: Any) -> list[Any]:
    """The ops that depend on the inputs and that the loss depends on, in the order in which they were made."""
    needed = sharding.dependencies([loss])
    reached: set[Any] = set()
    ops = []
    for op in loss.graph.get_operations():
        if op in needed and (op in inputs or any(tensor.op in reached for tensor in op.inputs)):
            reached.add(op)
            ops.append(op)
    if loss not in reached:
        raise ValueError(
            f"{loss.name} does not depend on {sorted(op.name for op in inputs)}: name the tensor that the data "
            f"enters by."
        )
    return ops


def _joined(ops: list[Any], kept: Callable[[tuple[str, str]], bool]) -> list[list[Any]]:
    """Runs of ops that stay together."""
    runs: list[list[Any]] = []
    for op in ops:
        together = runs and any(
            kept((tensor.op.name, op.name)) for tensor in op.inputs if tensor.op in runs[-1]
        )
        if together:
            runs[-1].append(op)
        else:
            runs.append([op])
    return runs


def _bytes(op: Any) -> int:
    tensors = [*op.outputs, *(tensor for tensor in op.inputs if tensor.op.type in _WEIGHTS)]
    return sum((tensor.shape.num_elements() or 1) * (tensor.dtype.size or 1) for tensor in tensors)


def _balanced(runs: list[list[Any]], shards: int) -> list[list[Any]]:
    """The runs in `shards` parts, the largest of which is as small as possible; no part is empty."""
    sizes = [sum(map(_bytes, run)) for run in runs]
    low, high = max(sizes), sum(sizes)
    while low < high:
        middle = (low + high) // 2
        if len(_parts(sizes, middle)) <= shards:
            high = middle
        else:
            low = middle + 1
    parts = _parts(sizes, low)
    while len(parts) < shards:  # cut the largest part that can be cut
        longest = max((p for p in parts if len(p) > 1), key=lambda part: sum(sizes[i] for i in part))
        at, half = parts.index(longest), len(longest) // 2
        parts[at : at + 1] = [longest[:half], longest[half:]]
    return [[op for index in part for op in runs[index]] for part in parts]


def _parts(sizes: list[int], limit: int) -> list[list[int]]:
    """Consecutive parts whose sizes do not exceed `limit`."""
    parts: list[list[int]] = [[]]
    total = 0
    for index, size in enumerate(sizes):
        if parts[-1] and total + size > limit:
            parts.append([])
            total = 0
        parts[-1].append(index)
        total += size
    return parts


def ipu_autoshard() -> Any:
    """Refuse: a scope does not say how many shards there are.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "ipu_autoshard() is not supported: call autoshard.automatic_sharding(num_shards, input_ts, loss_ts) after the "
        "network was built, or use ipu.scopes.ipu_shard."
    )
