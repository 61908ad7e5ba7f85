"""Sums, extrema, norms, scans and sorts along dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.elementwise import element_passes
from tremula.frontends.torch.rules.operand import Operand
from tremula.lowering.reductions import shaped
from tremula.program.dtypes import FLOATS
from tremula.program.lowered import Lowered
from tremula.program.op import Phase
from tremula.program.work import Cast, Elementwise, Scan, Softmax, Sort, Work

_OPERATIONS = {
    "sum": "add", "nansum": "add", "mean": "add", "nanmean": "add", "prod": "mul", "amax": "max", "amin": "min",
    "max": "max", "min": "min", "all": "and", "any": "or", "argmax": "argmax", "argmin": "argmin",
    "count_nonzero": "add", "aminmax": "max",
}  # fmt: skip


def reduced_dims(call: Call, source: Operand) -> tuple[int, ...]:
    """The dimensions that the op reduces, all if it names none."""
    dims = call.argument("dim")
    rank = len(source.shape)
    if rank == 0:
        return ()
    if dims is None or (isinstance(dims, Sequence) and not dims):
        return tuple(range(rank))
    listed = dims if isinstance(dims, Sequence) else (dims,)
    return tuple(sorted({int(d) % rank for d in listed}))


def reduction(call: Call) -> Lowered:
    """sum, mean, prod, amax, any, argmax ... over some dimensions or all."""
    source = call.given(0)
    if call.name in ("max", "min") and len(call.tensors()) == 2:
        return call.lowered(element_passes(call, (call.name,), call.tensors(), call.output))
    dims = reduced_dims(call, source)
    operation = _OPERATIONS[call.name]
    if len(call.outputs) > 1 and call.name in ("max", "min"):
        operation = f"arg{operation}"  # values and where they are, found in one pass
    out = call.output.dtype if call.outputs else source.dtype
    works: list[Work] = []
    dtype = source.dtype
    if call.name == "count_nonzero":
        works.append(Elementwise("ne", source.elements, dtype, 2, broadcast_elements=1, output_dtype="bool"))
        dtype = "int32"
    elif (dtype not in FLOATS and out in FLOATS) or (dtype == "bool" and out == "int32"):
        works.append(Cast(source.elements, dtype, out))
        dtype = out
    if math.prod(source.shape[d] for d in dims) == 1 and "arg" not in operation:
        return call.view() if not works and out == dtype else call.lowered(works)
    different = out if out != dtype and "arg" not in operation else None
    works.append(shaped(source, dims, operation, different, dtype))
    if call.name == "aminmax":
        works.append(shaped(source, dims, "min"))
    return call.lowered(works)


def variance(call: Call) -> Lowered:
    """var, std and their forms with the mean: a sum, a sum of squares and a small expression."""
    source = call.given(0)
    dims = reduced_dims(call, source)
    result = call.output
    tail = "square+sub+sqrt" if call.name.startswith("std") else "square+sub"
    return call.lowered((
        shaped(source, dims, "add"),
        shaped(source, dims, "square_add"),
        Elementwise(tail, result.elements, result.dtype, operands=2),
    ))  # fmt: skip


def vector_norm(call: Call) -> Lowered:
    """norm and linalg_vector_norm by their order."""
    source = call.tensor("self") or call.given(0)
    dims = reduced_dims(call, source)
    order = call.argument("ord", call.argument("p", 2))
    result = call.output
    plain = Elementwise("abs", source.elements, source.dtype)
    if order in (None, 2, 2.0):
        dtype = result.dtype if result.dtype != source.dtype else None
        squares = shaped(source, dims, "square_add", dtype)
        if call.op.phase is Phase.UPDATE:
            return call.lowered((squares,))  # the root is part of the expression that uses it (LambSquare)
        return call.lowered((squares, Elementwise("sqrt", result.elements, result.dtype)))
    if order in (math.inf, -math.inf):
        return call.lowered((plain, shaped(source, dims, "max" if order > 0 else "min")))
    if order == 1:
        return call.lowered((plain, shaped(source, dims, "add")))
    if order == 0:
        return call.lowered((
            Elementwise("ne", source.elements, source.dtype, 2, broadcast_elements=1, output_dtype="bool"),
            shaped(source, dims, "add"),
        ))  # fmt: skip
    power = Elementwise("abs+pow", source.elements, source.dtype, operands=2, broadcast_elements=1)
    root = Elementwise("pow", result.elements, result.dtype, operands=2, broadcast_elements=1)
    return call.lowered((power, shaped(source, dims, "add"), root))


def log_sum_exp(call: Call) -> Lowered:
    """logsumexp: what a softmax computes but for the last product, and a logarithm."""
    source = call.given(0)
    dims = reduced_dims(call, source)
    columns = math.prod(source.shape[d] for d in dims)
    result = call.output
    return call.lowered((
        Softmax(source.elements // max(1, columns), columns, source.dtype),
        Elementwise("log+add", result.elements, result.dtype, operands=2),
    ))  # fmt: skip


def scan(call: Call) -> Lowered:
    """cumsum, cumprod, cummax and their like."""
    source = call.given(0)
    columns = source.extent(int(call.argument("dim", -1)))
    return call.lowered((Scan(source.elements // max(1, columns), columns, source.dtype),))


def sort(call: Call) -> Lowered:
    """sort, argsort, topk, kthvalue, median and mode."""
    source = call.given(0)
    dim = call.argument("dim")
    columns = (
        source.elements
        if dim is None and call.name in ("median", "mode")
        else source.extent(dim if dim is not None else -1)
    )
    k = call.argument("k") if call.name in ("topk", "kthvalue") else None
    if call.name == "median":
        k = (columns + 1) // 2
    return call.lowered((Sort(source.elements // max(1, columns), columns, source.dtype, k),))
