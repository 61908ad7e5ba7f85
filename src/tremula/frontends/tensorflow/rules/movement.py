"""Nodes that compute nothing: copies, constants written, hints, and what the host does."""

from __future__ import annotations

from tremula.frontends.tensorflow.rules.call import Call
from tremula.frontends.tensorflow.rules.convolutions import is_folded
from tremula.lowering.movement import joined, pad_gradient, padded, put_into_zeros
from tremula.lowering.operand import dense_strides
from tremula.program.lowered import Lowered
from tremula.program.work import Copy, Elementwise, Fill

#: constants that repeat one number: the device keeps that number alone
_REPEATED = frozenset({"Fill", "ZerosLike", "OnesLike", "BroadcastTo", "Empty"})


def constant(call: Call) -> Lowered:
    """Computed by the compiler, once. One number that is repeated takes no room and has no strides."""
    repeated = call.type in _REPEATED
    for value in call.node.outputs:
        if repeated and value.elements > 1:
            call.facts.place(value, (0,) * len(value.shape))
    return call.lowered((), "constant", reads=(), stored=not repeated)


def hint(call: Call) -> Lowered:
    """Nothing happens on the device: an annotation, a handle, a stream of the host's that the schedule models."""
    return call.lowered((), "hint", reads=())


def stream_out(call: Call) -> Lowered:
    """What is sent to the host is read at its place."""
    return call.lowered((), "hint")


def on_host(call: Call) -> Lowered:
    """The host's part of the program: the device sends, waits and receives."""
    return call.lowered((), "host")


def fill(call: Call) -> Lowered:
    """Fill with a number that is computed, Range, LinSpace, Eye: written anew."""
    source = call.node.inputs[-1] if call.type == "Fill" else None
    if source is not None and source.elements == 1 and call.node.outputs[0].elements > 1:
        value = call.node.outputs[0]
        return call.view((0,) * len(value.shape), position=len(call.node.inputs) - 1)
    return call.lowered([Fill(o.elements, o.dtype) for o in call.outputs], "copy", reads=())


def concatenation(call: Call) -> Lowered:
    """ConcatV2, Concat, Pack and ParallelConcat."""
    result = call.output
    rank = max(1, len(result.shape))
    if call.type in ("Pack", "Stack"):
        work = joined(call.inputs, result, int(call.attribute("axis", 0)) % rank, stacked=True)
        return call.lowered((work,), "copy")
    if call.type == "ParallelConcat":
        return call.lowered((joined(call.inputs, result, 0),), "copy")
    first = call.type == "Concat"
    axis = call.known_int(0 if first else -1) % rank
    return call.lowered((joined(call.inputs[1:] if first else call.inputs[:-1], result, axis),), "copy")


def pad(call: Call) -> Lowered:
    """Pad, PadV2 and MirrorPad; a convolution pads its field itself."""
    if is_folded(call.node, call.facts):
        return call.view(dense_strides(call.node.output.shape))
    return call.lowered(padded(call.given(0), call.output, by_constant=call.type != "MirrorPad"), "copy")


def mirror_gradient(call: Call) -> Lowered:
    """MirrorPadGrad: what was repeated into the border is added up again."""
    return call.lowered(pad_gradient(call.given(0), call.output))


def slice_gradient(call: Call) -> Lowered:
    """StridedSliceGrad (shape, begin, end, strides, gradient): zeros, and the gradient in its place."""
    gradient, result = call.given(-1), call.output
    return call.lowered(put_into_zeros(gradient, result, gradient.extent(-1)), "copy")


def slice_assignment(call: Call) -> Lowered:
    """ResourceStridedSliceAssign and TensorStridedSliceUpdate: a part is replaced."""
    part = call.given(-1)
    work = Copy(part.elements, part.dtype, contiguous=max(1, part.extent(-1)))
    if not call.node.outputs:
        return call.lowered((work,), "copy", reads=(call.node.inputs[-1].name,))
    whole = call.output
    kept = Copy(whole.elements, whole.dtype, contiguous=max(1, whole.extent(-1)), between_tiles=False)
    return call.lowered((kept, work), "copy")


def slice_update(call: Call) -> Lowered:
    """XlaDynamicUpdateSlice and InplaceUpdate: a part is replaced in the tensor itself."""
    part = call.given(1 if call.type.startswith("Xla") else -1)
    work = Copy(part.elements, part.dtype, contiguous=max(1, part.extent(-1)))
    return call.lowered((work,), "copy", shares=(call.node.inputs[0].name,))


def piecewise(call: Call) -> Lowered:
    """Reverse, ReverseSequence and Roll: pieces from the innermost dimension that is touched inwards."""
    source, result = call.given(0), call.output
    rank = max(1, len(source.shape))
    named = call.known_ints(2 if call.type == "Roll" else 1)
    if call.type == "ReverseSequence":
        named = (int(call.attribute("seq_dim", 0)),)
    touched = named or (rank - 1,)
    run = source.inner(max(d % rank for d in touched))
    return call.lowered((Copy(result.elements, result.dtype, contiguous=max(1, run)),), "copy")


def scattered_copy(call: Call) -> Lowered:
    """SpaceToDepth, SpaceToBatch and their inverses: blocks of channels move."""
    source, result = call.given(0), call.output
    run = min(source.extent(-1), result.extent(-1))
    return call.lowered((Copy(result.elements, result.dtype, contiguous=max(1, run)),), "copy")


def triangle(call: Call) -> Lowered:
    """MatrixBandPart, MatrixSetDiag, MatrixDiag: a selection by position."""
    result = call.output
    return call.lowered((Elementwise("select", result.elements, result.dtype, operands=3),))


def diagonal(call: Call) -> Lowered:
    """MatrixDiagPart and DiagPart: a view that steps along both dimensions."""
    source, value = call.given(0), call.node.output
    if len(source.shape) < 2 or len(value.shape) != len(source.shape) - 1:
        return call.lowered((Copy(value.elements, value.dtype),), "copy")
    return call.view((*source.strides[:-2], source.strides[-2] + source.strides[-1]))


def bitcast(call: Call) -> Lowered:
    """Bitcast: the same bytes as numbers of another type."""
    return call.view(dense_strides(call.node.output.shape))


def where(call: Call) -> Lowered:
    """Where of one operand: places of what is true, whose number is not known; and other ops of that kind."""
    return call.unknown()
