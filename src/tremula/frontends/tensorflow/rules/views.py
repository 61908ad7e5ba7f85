"""Views with their strides: what lies where after a reshape, a transpose or a slice.

The strides decide what a view costs at its consumer (`lowering.rearrangement`). A reshape that no strides can express
is a rearrangement, unless only products read it: their plans rearrange their operands anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from tremula.frontends.tensorflow.capture.nodes import Value
from tremula.frontends.tensorflow.rules.aliases import ALIASES
from tremula.frontends.tensorflow.rules.call import Call, GraphFacts
from tremula.lowering.lookups import Rows
from tremula.lowering.operand import dense_strides
from tremula.lowering.strides import reshaped
from tremula.program.lowered import Lowered
from tremula.program.work import Copy

Ints = tuple[int, ...]

#: nodes that only look at their input in another way
_LOOKS = ALIASES | {"Reshape", "Squeeze", "ExpandDims", "Transpose", "ConjugateTranspose"}

#: ops whose plans rearrange their operands
_PRODUCTS_TEXT = """
    MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum Conv2D Conv3D Conv2DBackpropInput Conv3DBackpropInputV2
    Conv2DBackpropFilter Conv3DBackpropFilterV2 DepthwiseConv2dNative
"""
_PRODUCTS = frozenset(_PRODUCTS_TEXT.split())


def reshape(call: Call) -> Lowered:
    """Reshape, Squeeze, ExpandDims: a view, or data in another order if no strides express it."""
    source, shape = call.given(0), call.node.output.shape
    strides = reshaped(source, shape)
    if strides is not None:
        return call.view(strides)
    if source.distinct < source.elements or feeds_products_only(call.node.output, call.facts):
        return call.view(dense_strides(shape))  # what is repeated is repeated by the consumer
    run = 1
    for extent, stride in zip(reversed(source.shape), reversed(source.strides), strict=True):
        if extent > 1 and stride != run:
            break
        run *= extent
    return call.lowered((Copy(source.elements, source.dtype, contiguous=run),), "copy")


def feeds_products_only(value: Value, facts: GraphFacts, depth: int = 8) -> bool:
    """Whether all uses of a value, behind views, are as an operand of a product."""
    users = facts.users(value)
    if not users or depth == 0:
        return False
    for user in users:
        if user.type in _PRODUCTS:
            continue
        if (
            user.type not in _LOOKS
            or not user.outputs
            or not feeds_products_only(user.output, facts, depth - 1)
        ):
            return False
    return True


def transpose(call: Call) -> Lowered:
    """Transpose with a known permutation; without one the dimensions are taken as turned over."""
    source = call.given(0)
    order = call.known_ints(1)
    if order is None or len(order) != len(source.shape):
        order = tuple(range(len(source.shape)))[::-1]
    return call.view(tuple(source.strides[d] for d in order))


def expand(call: Call) -> Lowered:
    """BroadcastTo: repeated dimensions have no stride."""
    source, shape = call.given(0), call.node.output.shape
    return call.view(expanded(source.shape, source.strides, shape))


def expanded(shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> Ints:
    """Strides of a tensor repeated to the shape `wanted`."""
    missing = len(wanted) - len(shape)
    return (0,) * missing + tuple(
        s if n == w else 0 for n, s, w in zip(shape, strides, wanted[missing:], strict=True)
    )


def tile(call: Call) -> Lowered:
    """Tile: a view where only dimensions of one element are repeated, else a copy."""
    source, result = call.given(0), call.output
    if len(source.shape) != len(result.shape):
        return call.unknown()
    if all(n in (1, m) for n, m in zip(source.shape, result.shape, strict=True)):
        return expand(call)
    touched = [d for d, (n, m) in enumerate(zip(source.shape, result.shape, strict=True)) if n != m]
    run = source.inner(touched[-1]) * source.extent(touched[-1])
    return call.lowered((Copy(result.elements, result.dtype, contiguous=max(1, run)),), "copy")


def parts(call: Call) -> Lowered:
    """Split, SplitV and Unpack: parts of the input."""
    position = 1 if call.type == "Split" else 0
    source = call.given(position)
    strides = source.strides
    if call.type == "Unpack" and source.shape:
        axis = int(call.attribute("axis", 0)) % len(source.shape)
        strides = strides[:axis] + strides[axis + 1 :]
    return call.view(*[strides] * len(call.node.outputs), position=position)


def part(call: Call) -> Lowered:
    """Slice: begin and size; where the begin is data, rows are looked up."""
    source = call.given(0)
    if not call.facts.is_constant(call.node.inputs[1]):
        return dynamic_part(call)
    return call.view(source.strides)


def strided_part(call: Call) -> Lowered:
    """StridedSlice: x[2:7:2, ..., tf.newaxis, 0]."""
    if not all(call.facts.is_constant(value) for value in call.node.inputs[1:]):
        return dynamic_part(call)
    strides = _sliced(call)
    shape = call.node.output.shape
    return call.view(strides if strides is not None and len(strides) == len(shape) else dense_strides(shape))


def _sliced(call: Call) -> Ints | None:
    steps = call.known_ints(3)
    if steps is None:
        return None
    source = call.given(0)
    ellipsis, fresh, shrunk = (
        int(call.attribute(f"{name}_mask", 0)) for name in ("ellipsis", "new_axis", "shrink_axis")
    )
    named = sum(not (fresh >> i & 1) and not (ellipsis >> i & 1) for i in range(len(steps)))
    strides: list[int] = []
    dim = 0
    for i, step in enumerate(steps):
        if ellipsis >> i & 1:
            covered = len(source.strides) - named
            strides += source.strides[dim : dim + covered]
            dim += covered
        elif fresh >> i & 1:
            strides.append(1)
        elif dim < len(source.strides):
            if not shrunk >> i & 1:
                strides.append(source.strides[dim] * abs(step))
            dim += 1
    return tuple(strides) + source.strides[dim:]


def dynamic_part(call: Call) -> Lowered:
    """A slice whose place is data: popops looks its rows up along the outermost dimension that is cut."""
    source, result = call.given(0), call.output
    cut = 0
    if len(source.shape) == len(result.shape):
        pairs = zip(source.shape, result.shape, strict=True)
        cut = next((d for d, (n, m) in enumerate(pairs) if n != m), 0)
    entries = max(1, source.extent(cut))
    width = max(1, source.elements // entries)
    rows = Rows(entries, width, max(1, -(-result.elements // width)))
    return call.lowered((rows.gather(source.dtype, call.proportion),))
