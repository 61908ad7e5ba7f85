"""When data has to be rearranged, and in which pieces.

On the device a tensor is a view of tile memory: reshapes, transposes and slices cost nothing by themselves.
The rules of this model, after what Poplar's libraries do with such views:

- a copy (clone, contiguous, concatenation ...) moves its data in pieces that lie together in the source;
- an operand of an element-wise op whose dimensions are in another order than the result's is rearranged
  first: the vertices of popops walk all operands of a tile alike;
- operands of matrix products and convolutions are not: weights lie as the plan wants them from the start, and
  the plan's own cost contains the exchange and the transposition of activations on the way in. A copy that a
  framework makes only to give a product contiguous operands is a view for the same reason;
- an expanded operand is broadcast by the vertex where it can be, and never stored in full for it.

Strides stand for the order of dimensions on the device.
"""

from __future__ import annotations

from typing import Any

from tremula.lowering.operand import Operand
from tremula.program.work import Copy


def same_order(one: Operand[Any], other: Operand[Any]) -> bool:
    """Whether two tensors of one shape have their dimensions in the same order in memory."""
    if one.strides == other.strides or len(one.shape) < 2:
        return True
    kept = [
        d for d, n in enumerate(one.shape) if n > 1 and one.strides[d] != 0 and other.strides[d] != 0
    ]  # fmt: skip
    by_one = sorted(kept, key=lambda d: (-one.strides[d], d))
    by_other = sorted(kept, key=lambda d: (-other.strides[d], d))
    return by_one == by_other


def run_length(source: Operand[Any], target: Operand[Any]) -> int:
    """Elements that lie together in both tensors, which have the same shape."""
    dims = [d for d, n in enumerate(target.shape) if n > 1]
    dims.sort(key=lambda d: (target.strides[d], -d))
    run = 1
    for d in dims:
        if source.strides[d] != run:
            break
        run *= source.shape[d]
    return run


def rearranged(source: Operand[Any], target: Operand[Any]) -> Copy:
    """The copy of `source` into the order of `target`."""
    run = run_length(source, target)
    in_place = run == source.elements or (source.distinct == source.elements and same_order(source, target))
    return Copy(
        elements=target.elements,
        dtype=target.dtype,
        contiguous=max(1, min(run, target.elements)),
        between_tiles=not in_place,
    )
