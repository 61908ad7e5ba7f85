"""Collectives: kernels that see the arrays of all replicas, and those between the IPUs of one replica.

Sums of halves are accumulated in single precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.libs.calls import computing, computing_across
from tremula.frontends.poplar.libs.popops.reducing import reduced
from tremula.frontends.poplar.program.library import AcrossKernel, Arrays, Kernel

Array = NDArray[Any]


def combined(operator: str, arrays: Sequence[Array]) -> Array:
    """One array of the arrays of several ranks."""
    stacked = np.stack(arrays)
    if operator == "MEAN":
        total = np.asarray(reduced("ADD", stacked, (0,)))
        if total.dtype.kind == "f":
            return np.asarray(total / total.dtype.type(len(arrays)))
        return np.asarray(np.trunc(total / len(arrays)), dtype=total.dtype)
    return np.asarray(reduced(operator, stacked, (0,)))


def _part(flat: Array, rank: int, ranks: int) -> Array:
    """The share of one rank of a flattened array, which zeros fill up."""
    size = -(-len(flat) // ranks)
    found = np.zeros(size, dtype=flat.dtype)
    mine = flat[rank * size : (rank + 1) * size]
    found[: len(mine)] = mine
    return found


def _of_group(kind: str, operator: str, root: int, arrays: Sequence[Array]) -> list[Array]:
    """What each rank of a group gets."""
    ranks = len(arrays)
    match kind:
        case "all_reduce":
            if operator == "LOCAL":
                return list(arrays)
            return [combined(operator, arrays)] * ranks
        case "reduce_scatter":
            if operator == "LOCAL":
                return [_part(each.reshape(-1), rank, ranks) for rank, each in enumerate(arrays)]
            total = combined(operator, arrays).reshape(-1)
            return [_part(total, rank, ranks) for rank in range(ranks)]
        case "all_gather":
            return [np.stack(arrays)] * ranks
        case "all_to_all":
            return [np.stack([each[rank] for each in arrays]) for rank in range(ranks)]
    return [arrays[root]] * ranks


@computing_across("gcl.collective")
def collective_kernel(attributes: Mapping[str, Any]) -> AcrossKernel:
    """All tensors of a call, for each group of replicas."""
    kind, operator, root = attributes["kind"], attributes["operator"], attributes["root"]
    groups = attributes["groups"]

    def compute(inputs: Sequence[Arrays], outputs: Sequence[Arrays]) -> None:
        for group in groups:
            for number in range(len(outputs[group[0]])):
                found = _of_group(kind, operator, root, [inputs[replica][number] for replica in group])
                # a result may be an operand of another rank: take what is left of it before any is written
                kept = [each.copy() if each.base is not None or each is inputs[replica][number] else each
                        for replica, each in zip(group, found, strict=True)]  # fmt: skip
                for replica, each in zip(group, kept, strict=True):
                    out = outputs[replica][number]
                    out[...] = each.reshape(out.shape)

    return compute


@computing("gcl.within")
def within_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Between the IPUs of one replica: the first dimension counts them."""
    kind, operator = attributes["kind"], attributes["operator"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        if kind == "all_gather":
            whole = np.concatenate([each.reshape(-1) for each in inputs])
            outputs[0][...] = whole.reshape(outputs[0].shape[1:])
            return
        total = combined(operator, list(inputs[0]))
        if kind == "all_reduce":
            outputs[0][...] = total
            return
        flat = total.reshape(-1)
        for rank, out in enumerate(outputs):
            out[...] = _part(flat, rank, len(outputs))[: len(out)]

    return compute
