"""Ops that compute nothing: views, copies, constants written, changes of type, hints and calls of the host.

When a view costs something at its consumer, and how pieces are counted, is in `lowering.rearrangement`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.ops import layout_copies
from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.products import proportion
from tremula.lowering import movement
from tremula.lowering.movement import joined, padded, put_into_zeros
from tremula.lowering.rearrangement import rearranged
from tremula.program.lowered import Lowered
from tremula.program.work import Cast, Copy, Elementwise, Fill, Gather, Work


def view(call: Call) -> Lowered:
    """Another way to look at a tensor."""
    return call.view()


def hint(call: Call) -> Lowered:
    """An annotation, passed through as an alias."""
    source = next(iter(call.op.inputs), None)
    return call.lowered((), "hint", reads=(), shares=(source,) * len(call.op.outputs))


def allocation(call: Call) -> Lowered:
    """Memory of its own, with nothing written."""
    return call.lowered((), "hint", reads=())


def constant(call: Call) -> Lowered:
    """Computed by the compiler, once."""
    return call.lowered((), "constant", reads=())


def on_host(call: Call) -> Lowered:
    """The host's part of the program: the device sends and receives, which is not a tile's work."""
    return call.lowered((), "host")


def fill(call: Call) -> Lowered:
    """zeros, full, arange ...: written anew where the result is overwritten later, else a constant."""
    return call.lowered([Fill(o.elements, o.dtype) for o in call.outputs], "copy", reads=())


def clone(call: Call) -> Lowered:
    """clone and contiguous; what torch lays out anew only for a product is left to the product's plan."""
    source, result = call.given(0), call.output
    laid_out = call.argument("memory_format") is torch.contiguous_format
    if laid_out and source.strides != result.strides and _feeds_products_only(call.node):
        return call.view()
    return call.lowered((rearranged(source, result),), "copy")


#: ops whose plan rearranges its operands
_PRODUCTS = frozenset({
    "mm", "bmm", "mv", "addmm", "baddbmm", "convolution", "convolution_backward", "linear", "matmul",
})  # fmt: skip


def _feeds_products_only(node: fx.Node) -> bool:
    """Whether all uses of a tensor, behind views, are as an operand of a product."""
    if not node.users:
        return False
    for user in node.users:
        target = user.target
        if not isinstance(target, torch._ops.OpOverload):
            return False
        if target._schema.name.removeprefix("aten::") in _PRODUCTS:
            continue
        if not (target.is_view or target is torch.ops.aten._unsafe_view.default):
            return False
        if not _feeds_products_only(user):
            return False
    return True


def cast(call: Call) -> Lowered:
    """_to_copy: a change of type, if the two types differ on the device."""
    source, result = call.given(0), call.output
    if source.dtype != result.dtype:
        return call.lowered((Cast(source.distinct, source.dtype, result.dtype),))
    before = source.node.meta["val"].dtype if source.node is not None else None
    if before != call.node.meta["val"].dtype:
        return call.view()  # int64 and int32 are one type there
    return clone(call)


def copy(call: Call) -> Lowered:
    """copy_: one tensor's contents into another's place."""
    target, source = call.given(0), call.tensor("src") or call.given(-1)
    reads = tuple(name for name in call.op.inputs if name != call.op.inputs[0]) or call.op.inputs
    if source.dtype != target.dtype:
        return call.lowered((Cast(target.elements, source.dtype, target.dtype),), "copy", reads=reads)
    work = (
        rearranged(source, target)
        if source.shape == target.shape
        else Copy(target.elements, target.dtype, contiguous=max(1, source.extent(-1)))
    )
    return call.lowered((work,), "copy", reads=reads)


def concatenation(call: Call) -> Lowered:
    """cat and stack: each piece lies together from the dimension of concatenation inwards."""
    result = call.output
    stacked = call.name in ("stack", "vstack", "column_stack")
    dim = int(call.argument("dim", 0)) % max(1, len(result.shape))
    return call.lowered((joined(call.tensors(), result, dim, stacked=stacked),), "copy")


def pad(call: Call) -> Lowered:
    """Padding by a constant, by reflection or by replication."""
    by_constant = call.name == "constant_pad_nd"
    return call.lowered(padded(call.given(0), call.output, by_constant=by_constant), "copy")


def pad_gradient(call: Call) -> Lowered:
    """What was repeated into the border is added up again."""
    return call.lowered(movement.pad_gradient(call.given(0), call.output))


def piecewise(call: Call) -> Lowered:
    """flip, roll and repeat: pieces from the innermost dimension that is touched inwards."""
    source, result = call.given(0), call.output
    rank = max(1, len(source.shape))
    dims = call.argument("dims")
    if dims is None:
        dims = call.argument("repeats")
        dims = [d for d, n in enumerate(dims or ()) if n != 1]
    touched = [int(d) % rank for d in (dims if isinstance(dims, list | tuple) else [dims])]
    deepest = max(touched, default=rank - 1)
    run = source.inner(deepest) * (1 if call.name == "flip" else source.extent(deepest))
    return call.lowered((Copy(result.elements, result.dtype, contiguous=max(1, run)),), "copy")


def scattered_copy(call: Call) -> Lowered:
    """pixel_shuffle, im2col and others that move element by element."""
    result = call.output
    return call.lowered((Copy(result.elements, result.dtype, contiguous=1),), "copy")


def triangle(call: Call) -> Lowered:
    """tril and triu: a selection by position."""
    result = call.output
    work = Elementwise("select", result.elements, result.dtype, operands=3, in_place=call.in_place)
    return call.lowered((work,))


def slice_gradient(call: Call) -> Lowered:
    """The gradient of a slice or selection: zeros, and the gradient in its place."""
    gradient, result = call.given(0), call.output
    dim = int(call.argument("dim", 0)) % max(1, len(result.shape))
    run = result.inner(dim)
    if call.name == "slice_backward" and int(call.argument("step", 1)) == 1:
        run *= gradient.extent(dim)
    return call.lowered(put_into_zeros(gradient, result, run), "copy")


def slice_update(call: Call) -> Lowered:
    """slice_scatter and select_scatter: a copy of which a part is replaced."""
    source, part, result = call.given(0), call.given(1), call.output
    works: list[Work] = [] if call.in_place else [rearranged(source, result)]
    dim = int(call.argument("dim", 0)) % max(1, len(result.shape))
    works.append(Copy(part.elements, result.dtype, contiguous=max(1, result.inner(dim))))
    return call.lowered(works, "copy")


def overlapping_sum(call: Call) -> Lowered:
    """col2im and unfold_backward: every element of the result sums those that were made from it."""
    return call.lowered(movement.overlapping_sum(call.given(0), call.output))


def custom(call: Call) -> Lowered:
    """An op of the user's own: PopTorch's gather along the last dimension and copies of known programs are known."""
    operands = call.tensors()
    if call.argument("name") == "FastGatherLastDim" and len(operands) == 2:
        data, index = operands
        return call.lowered((Gather(data.elements, 1, index.elements, data.dtype, proportion(call)),))
    if call.argument("domain") == layout_copies.DOMAIN and call.argument("name") in layout_copies.NAMES:
        return call.lowered((Copy(operands[0].elements, operands[0].dtype, contiguous=1),), "copy")
    return call.unknown()


#: ops that take only the shape of their operand
_SHAPE_ONLY = frozenset({
    "zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty",
})  # fmt: skip


def is_constant(node: fx.Node, constants: set[fx.Node]) -> bool:
    """Whether a node depends on constants only; nodes come in the order of the graph.

    What is overwritten later is not a constant: it is filled anew in every step.
    """
    varies, shape_only = _nature(node.target)
    sources = node.all_input_nodes
    if varies or not (shape_only or all(source in constants for source in sources)):
        return False
    return (bool(sources) and not shape_only) or not overwritten(node)


@cache
def _nature(target: Any) -> tuple[bool, bool]:
    """Whether an op's results vary with the same operands, and whether it takes only the operand's shape."""
    if not isinstance(target, torch._ops.OpOverload):
        return False, False
    varies = torch.Tag.nondeterministic_seeded in target.tags or target.namespace != "aten"
    return varies, target._schema.name.removeprefix("aten::") in _SHAPE_ONLY


def overwritten(node: fx.Node) -> bool:
    """Whether some op writes into the tensor that `node` makes, or into a view of it."""
    for user in node.users:
        target = user.target
        if not isinstance(target, torch._ops.OpOverload) or not user.args or user.args[0] is not node:
            continue
        name = target._schema.name
        if name.endswith("_") and not name.endswith("__"):
            return True
        if target.is_view and overwritten(user):
            return True
    return False
