"""Reductions, products of matrices, normalisation."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import popart._internal.ir as _ir

from .. import dtypes
from ..context import get_current_context
from ..dtypes import dtype as Dtype
from ..tensor import Tensor
from ._create import create, create_op, outputs_of
from .utils import handle_negative_axis

Axis = int | Iterable[int] | None


def _reduce(kind: str, t: Tensor, axis: Axis, keepdims: bool, name: str) -> Tensor:
    axes = [axis] if isinstance(axis, int) else None if axis is None else list(axis)
    return create(kind, {"t": t}, name, {"axes": axes, "keepdims": keepdims})


def sum(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Sums over dimensions, all of them by default."""
    return _reduce("ReduceSum", t, axis, keepdims, "sum_out")


def mean(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Means over dimensions."""
    return _reduce("ReduceMean", t, axis, keepdims, "mean_out")


def max(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The largest values over dimensions."""
    return _reduce("ReduceMax", t, axis, keepdims, "max_out")


def min(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest values over dimensions."""
    return _reduce("ReduceMin", t, axis, keepdims, "min_out")


def prod(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Products over dimensions."""
    return _reduce("ReduceProd", t, axis, keepdims, "prod_out")


def l1(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Sums of absolute values."""
    return _reduce("ReduceL1", t, axis, keepdims, "l1_out")


def l2(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Roots of sums of squares."""
    return _reduce("ReduceL2", t, axis, keepdims, "l2_out")


def logsum(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Logarithms of sums."""
    return _reduce("ReduceLogSum", t, axis, keepdims, "logsum_out")


def logsumexp(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Logarithms of sums of exponentials."""
    return _reduce("ReduceLogSumExp", t, axis, keepdims, "logsumexp_out")


def sumsquare(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Sums of squares."""
    return _reduce("ReduceSumSquare", t, axis, keepdims, "sumsquare_out")


def median(t: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The lower medians."""
    axes = [axis] if isinstance(axis, int) else None if axis is None else list(axis)
    names = ["median_out", "median_indices_out"]
    return outputs_of(create_op("ReduceMedian", {"t": t}, names, {"axes": axes, "keepdims": keepdims}))[0]


def lamb_square(t: Tensor) -> Tensor:
    """The sum of squares in single precision."""
    return create("LambSquare", {"t": t}, "lamb_square_out")


def argmax(t: Tensor, dim: int = 0, keepdim: bool = False) -> Tensor:
    """Places of the largest elements."""
    return create("ArgMax", {"t": t}, "argmax_out", {"dim": dim, "keepdim": bool(keepdim)})


def argmin(t: Tensor, dim: int = 0, keepdim: bool = False) -> Tensor:
    """Places of the smallest elements."""
    return create("ArgMin", {"t": t}, "argmin_out", {"dim": dim, "keepdim": bool(keepdim)})


def topk(
    t: Tensor,
    k: int,
    axis: int,
    largest: bool,
    sorted: bool,
    available_memory_proportion: float | None = None,
) -> tuple[Tensor, ...]:
    """The `k` largest or smallest elements and their places."""
    attributes = {
        "k": k,
        "axis": handle_negative_axis(t, axis),
        "largest": largest,
        "sorted": sorted,
        "available_memory_proportion": available_memory_proportion,
    }
    return outputs_of(create_op("TopK", {"t": t}, ["topk_out_value", "topk_out_indices"], attributes))


def cumsum(t: Tensor, dim: int = 0) -> Tensor:
    """Running sums."""
    return create("CumSum", {"t": t}, "cumsum_out", {"axis": handle_negative_axis(t, dim)})


def softmax(t: Tensor, axis: int) -> Tensor:
    """Exponentials with the sum 1 along an axis."""
    return create("Softmax", {"t": t}, "softmax_out", {"axis": handle_negative_axis(t, axis)})


def _partials(dtype: Dtype | None) -> str:
    if dtype is None:
        name = str(get_current_context().ir._pb_ir.getSessionOptions().partialsTypeMatMuls).lower()
        if name not in ("", "float", "half"):
            raise ValueError(f"partialsTypeMatMuls is 'float' or 'half', not {name!r}.")
        return _ir.op.MatMulPartialsType.HALF.name if name == "half" else _ir.op.MatMulPartialsType.FLOAT.name
    if dtype not in (dtypes.float16, dtypes.float32):
        raise ValueError(f"partials_type is popxl.float16 or popxl.float32, not {dtype}.")
    return "HALF" if dtype == dtypes.float16 else "FLOAT"


def matmul(
    lhs: Tensor,
    rhs: Tensor,
    available_memory_proportion: float | None = None,
    output_type: Dtype | None = None,
    partials_type: Dtype | None = None,
) -> Tensor:
    """The product of matrices."""
    attributes = {
        "available_memory_proportion": available_memory_proportion,
        "output_type": None if output_type is None else output_type.name,
        "partials_type": _partials(partials_type),
    }
    return create("MatMul", {"lhs": lhs, "rhs": rhs}, "matmul_out", attributes)


_FLOAT8 = (dtypes.float8_143, dtypes.float8_152)


def check_scaled_operands(what: str, first: Tensor, second: Tensor, log2_scale: Tensor) -> None:
    """Refuse operands that are not float8, and scales that are not integers."""
    if first.dtype not in _FLOAT8 or second.dtype not in _FLOAT8:
        raise TypeError(
            f"The operands of a scaled {what} must have the type popxl.float8_143 or popxl.float8_152."
        )
    if log2_scale.rank > 0:
        raise ValueError(f"The log2 scale must be a scalar tensor; it has the shape {log2_scale.shape}.")
    if log2_scale.dtype != dtypes.int32:
        raise TypeError(f"The log2 scale must be of type popxl.int32, not {log2_scale.dtype}.")


def matmul_pow2scaled(
    lhs: Tensor, rhs: Tensor, log2_scale: Tensor, available_memory_proportion: float | None = None
) -> Tensor:
    """The product of float8 matrices times a power of two, in half precision."""
    check_scaled_operands("matmul", lhs, rhs, log2_scale)
    attributes = {"available_memory_proportion": available_memory_proportion, "partials_type": "HALF"}
    tensors = {"lhs": lhs, "rhs": rhs, "log2_scale": log2_scale}
    return create("MatMul", tensors, "matmul_pow2scaled_out", attributes, together=False)


def group_norm(t: Tensor, weight: Tensor, bias: Tensor, num_groups: int, eps: float = 1e-5) -> Tensor:
    """Normalisation over groups of channels; each a run of neighbours."""
    names = ["group_norm_out", "group_norm_mean", "group_norm_inv_std_dev"]
    tensors = {"t": t, "weight": weight, "bias": bias}
    op = create_op("GroupNorm", tensors, names, {"num_groups": num_groups, "epsilon": eps})
    return outputs_of(op)[0]


def layer_norm(t: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Normalisation over all channels."""
    return group_norm(t, weight, bias, 1, eps)


def batch_norm_inference(
    t: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    var: Tensor,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
) -> Tensor:
    """Normalisation with given means and variances."""
    tensors = {"t": t, "scale": scale, "b": bias, "mean": mean, "var": var}
    return create("BatchNorm", tensors, "batch_norm_out", {"epsilon": epsilon, "momentum": momentum})


def histogram(t: Tensor, levels: Sequence[float], absolute_of_input: bool) -> Tensor:
    """Count the elements between neighbouring levels, and those outside."""
    levels = list(levels)
    if any(low >= high for low, high in itertools.pairwise(levels)):
        raise ValueError(f"The levels must increase: {levels}.")
    return create("Histogram", {"t": t}, "histogram_out", {"levels": levels, "absolute": absolute_of_input})


def onehot(t: Tensor, num_classes: Tensor, values: Tensor, axis: int) -> Tensor:
    """The second value where the class is, the first elsewhere. `num_classes` must be a constant."""
    data: Any = num_classes._pb_tensor.data
    if data is None or num_classes._pb_tensor.kind.value != "Const":
        raise ValueError("num_classes must be a popxl.constant: shapes are fixed when a graph is made.")
    attributes = {"classes": int(data), "axis": axis}
    return create("Onehot", {"t": t, "values": values}, "onehot_out", attributes)


__all__ = [
    "argmax",
    "argmin",
    "batch_norm_inference",
    "check_scaled_operands",
    "cumsum",
    "group_norm",
    "histogram",
    "l1",
    "l2",
    "lamb_square",
    "layer_norm",
    "logsum",
    "logsumexp",
    "matmul",
    "matmul_pow2scaled",
    "max",
    "mean",
    "median",
    "min",
    "onehot",
    "prod",
    "softmax",
    "sum",
    "sumsquare",
    "topk",
]
