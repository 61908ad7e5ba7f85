"""Matrix products: mm, bmm, addmm and their like, and the parts of fused attention.

The role follows from the phase: in the backward pass a product with the gradient on the left, as it is, gives
the gradient of the left operand (input_gradient); one that sums over the rows gives that of the right operand
(weight_gradient). torch writes the latter as gradient^T x input for linear layers; here it is input^T x gradient,
as the device's libraries have it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from torch import fx

from tremula.frontends.torch.graphs.program import RECORD
from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.innermost import innermost_dimension, op_name
from tremula.frontends.torch.rules.operand import Operand
from tremula.lowering.products import bias, crossed, partials, serialised
from tremula.program.lowered import Lowered
from tremula.program.op import Phase
from tremula.program.work import Copy, Elementwise, MatMul, Softmax, Work

_VIEWS = frozenset({
    "t", "transpose", "permute", "view", "_unsafe_view", "reshape", "expand", "unsqueeze", "squeeze", "alias",
    "detach", "clone", "_to_copy", "slice", "select",
})  # fmt: skip
_TRANSPOSES = frozenset({"t", "transpose", "permute"})

#: which extent of a product the modes of a serialised product cut, by role
_CUT = {
    "forward": {"input_channels": "rows", "reducing_dim": "inner", "output_channels": "columns"},
    "input_gradient": {"input_channels": "rows", "output_channels": "inner", "reducing_dim": "columns"},
    "weight_gradient": {"reducing_dim": "rows", "input_channels": "inner", "output_channels": "columns"},
}


def product(call: Call) -> Lowered:
    """mm, bmm, mv, dot, addmm, baddbmm, addmv, matmul and linear."""
    left, right, added = _operands(call)
    if left is None or right is None or not left.shape or not right.shape:
        return call.unknown()
    rows, inner, columns, groups = _extents(call.name, left, right)
    role = role_of(call, left, right)
    against = ""
    if groups > 1:
        against = crossed(innermost_dimension(left.node), innermost_dimension(right.node))
    if role == "weight_gradient" and _is_gradient(left):
        rows, columns = columns, rows
        against = {"left": "right", "right": "left"}.get(against, against)
    work = replace(matmul(call, rows, inner, columns, groups, left.dtype, role), crossed=against)
    works = _serialised(call, work)
    if added is not None:
        scaled = call.argument("beta", 1) != 1 or call.argument("alpha", 1) != 1
        works.append(bias(call.output, added, "scaled_add" if scaled else "add"))
    return call.lowered(works)


def matmul(
    call: Call, rows: int, inner: int, columns: int, groups: int, dtype: str, role: str = "forward"
) -> MatMul:
    """A product with the settings that hold for this op."""
    return MatMul(
        rows=rows,
        inner=inner,
        columns=columns,
        groups=groups,
        dtype=dtype,
        partials=partials(dtype, call.settings.partials),
        proportion=proportion(call),
        role=role,
    )


def proportion(call: Call) -> float:
    """The share of memory for temporaries: the op's own if the user set one, else the IPU's."""
    own = call.facts.proportions.get(call.node)
    if own is not None:
        return own
    group = call.op.attributes.get("multi_conv")
    if isinstance(group, dict) and isinstance(group.get("available_memory_proportion"), float):
        return float(group["available_memory_proportion"])
    return call.settings.proportion(call.op.placement.ipu)


def role_of(call: Call, left: Operand, right: Operand) -> str:
    """forward, input_gradient or weight_gradient."""
    if not call.backward:
        return "forward"
    if _is_gradient(left):
        return "weight_gradient" if _transposed(left) else "input_gradient"
    if not _is_gradient(right):
        return "input_gradient"  # part of a formula
    # a parameter on the left of a product has the input on its right
    of_parameter = left.node is not None and source_of(left.node) in call.facts.parameters
    return "input_gradient" if of_parameter else "weight_gradient"


def source_of(node: fx.Node) -> fx.Node:
    """The node behind views, copies and casts."""
    while node.op == "call_function" and op_name(node) in _VIEWS and isinstance(node.args[0], fx.Node):
        node = node.args[0]
    return node


def _is_gradient(operand: Operand) -> bool:
    if operand.node is None:
        return False
    source = source_of(operand.node)
    if source.op == "placeholder":  # the gradient of a sum is the loss scale, expanded
        return operand.shape != () and source.meta["val"].dim() == 0
    record = source.meta.get(RECORD)
    return record is not None and record.phase is Phase.BACKWARD


def _transposed(operand: Operand) -> bool:
    """Whether an operand was transposed for this very product."""
    return operand.node is not None and op_name(operand.node) in _TRANSPOSES


def _operands(call: Call) -> tuple[Operand | None, Operand | None, Operand | None]:
    """Left, right and what is added."""
    if call.name in ("addmm", "baddbmm", "addmv", "addbmm"):
        second = "batch2" if "bmm" in call.name else "vec" if call.name == "addmv" else "mat2"
        first = "batch1" if "bmm" in call.name else "mat" if call.name == "addmv" else "mat1"
        return call.tensor(first), call.tensor(second), call.tensor("self")
    if call.name == "linear":
        return call.tensor("input"), call.tensor("weight"), call.tensor("bias")
    operands = call.tensors()
    return (operands[0], operands[1], None) if len(operands) > 1 else (None, None, None)


def _extents(name: str, left: Operand, right: Operand) -> tuple[int, int, int, int]:
    """Rows, inner extent, columns and groups."""
    inner = left.shape[-1]
    if name == "linear":
        return left.elements // max(1, inner), inner, right.shape[0], 1
    rows = left.shape[-2] if len(left.shape) > 1 else 1
    columns = right.shape[-1] if len(right.shape) > 1 else 1
    if len(right.shape) <= 2:  # one right operand for all: more rows
        return left.elements // max(1, inner), inner, columns, 1
    return rows, inner, columns, max(math.prod(left.shape[:-2]), math.prod(right.shape[:-2]))


def _serialised(call: Call, work: MatMul) -> list[Work]:
    """The parts of a product that the user asked to be done one after the other."""
    settings = call.op.attributes.get("matmul_serialization")
    if not isinstance(settings, dict):
        return [work]
    factor, cut = int(settings.get("factor", 0)), _CUT[work.role].get(str(settings.get("mode")))
    return serialised(work, cut, factor, "fp32" if settings.get("keep_precision") else None)


def attention(call: Call) -> Lowered:
    """Fused attention by its parts: scores, softmax, weighted sum; the device's stack has no fused form."""
    query, key, value = (call.tensor(name) for name in ("query", "key", "value"))
    if query is None or key is None or value is None:
        return call.unknown()
    groups, (length, width) = math.prod(query.shape[:-2]), query.shape[-2:]
    keys, out = key.shape[-2], value.shape[-1]
    scores = groups * length * keys
    dtype = query.dtype
    scale = Elementwise("mul", scores, dtype, operands=2, broadcast_elements=1, in_place=True)
    softmax = Softmax(groups * length, keys, dtype)

    def part(rows: int, inner: int, columns: int, role: str = "forward", against: str = "") -> MatMul:
        return replace(matmul(call, rows, inner, columns, groups, dtype, role), crossed=against)

    if "backward" in call.name:
        return call.lowered([
            part(length, out, keys, "input_gradient"),  # of the probabilities
            part(keys, length, out, "weight_gradient", "both"),  # of the values
            replace(softmax, gradient=True),
            scale,
            part(length, keys, width, "input_gradient", "right"),  # of the queries
            part(keys, length, width, "weight_gradient", "both"),
        ])  # fmt: skip
    works: list[Work] = [part(length, width, keys), scale]
    mask = call.tensor("attn_mask")
    if mask is not None or call.argument("is_causal", False):
        repeated = mask.distinct if mask is not None else length * keys
        works.append(
            Elementwise(
                "add",
                scores,
                dtype,
                operands=2,
                broadcast_elements=repeated if repeated < scores else None,
                broadcast_inner=repeated < scores,
                in_place=True,
            )
        )
    works += [softmax, part(length, keys, out, against="right")]
    return call.lowered(works)


def cross(call: Call) -> Lowered:
    """The cross product of vectors of three: two operands each turned by one place, products and a difference."""
    result = call.output
    return call.lowered((
        *[Copy(result.elements, result.dtype, contiguous=1)] * 4,
        Elementwise("mul+mul+sub", result.elements, result.dtype, operands=4),
    ))  # fmt: skip
