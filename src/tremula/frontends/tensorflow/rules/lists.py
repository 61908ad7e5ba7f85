"""Lists of tensors, as loops carry them: the device has one tensor of (length, element), made before the loop.

Writing an element copies it to its place; reading one copies it out, for the place is data of the loop. A list that is
stacked or taken from a tensor is that tensor.
"""

from __future__ import annotations

from tremula.frontends.tensorflow.rules.call import Call
from tremula.program.lowered import Lowered
from tremula.program.work import Copy


def reserve(call: Call) -> Lowered:
    """TensorListReserve, EmptyTensorList, TensorArrayV3: room, with nothing written."""
    return call.lowered((), "hint", reads=())


def write(call: Call) -> Lowered:
    """TensorListSetItem, TensorListPushBack, TensorArrayWriteV3: an element goes to its place in the list."""
    position = {"TensorListPushBack": 1, "TensorListPushBackBatch": 1, "TensorArrayScatterV3": 2}.get(
        call.type, 2
    )
    element = call.given(min(position, len(call.node.inputs) - 1))
    source = call.node.inputs[element_list(call)].name
    copied = Copy(element.elements, element.dtype, contiguous=max(1, element.elements), between_tiles=True)
    return call.lowered(
        (copied,), "copy", reads=(call.node.inputs[position].name,), shares=_shares(call, source)
    )


def element_list(call: Call) -> int:
    """Which input is the list: that of a TensorArray is the flow, its last."""
    return len(call.node.inputs) - 1 if call.type.startswith("TensorArray") else 0


def _shares(call: Call, source: str) -> tuple[str | None, ...]:
    return (source, *[None] * (len(call.node.outputs) - 1))[: len(call.node.outputs)]


def read(call: Call) -> Lowered:
    """TensorListGetItem, TensorArrayReadV3: an element is copied out of the list."""
    result = call.output
    source = call.node.inputs[element_list(call)].name
    work = Copy(result.elements, result.dtype, contiguous=max(1, result.elements))
    return call.lowered((work,), "copy", reads=(source,))


def pop(call: Call) -> Lowered:
    """TensorListPopBack: the list, which stays where it is, and its last element, copied out."""
    name = call.node.inputs[0].name
    element = call.outputs[-1]
    work = Copy(element.elements, element.dtype, contiguous=max(1, element.elements))
    shares = (name, None) if len(call.node.outputs) == 2 else None
    return call.lowered((work,), "copy", reads=(name,), shares=shares)


def whole(call: Call) -> Lowered:
    """TensorListStack, TensorListFromTensor and their like: the list is the tensor."""
    if call.type.startswith("TensorArray") and call.type not in (
        "TensorArrayGradV3",
        "TensorArrayGradWithShape",
    ):
        position = (
            2 if call.type.startswith(("TensorArrayScatter", "TensorArraySplit")) else element_list(call)
        )
        source = call.node.inputs[min(position, len(call.node.inputs) - 1)].name
        return call.lowered((), "view", reads=(), shares=_shares(call, source))
    if not call.node.inputs:
        return call.lowered((), "hint", reads=())
    return call.lowered((), "view", reads=(), shares=_shares(call, call.node.inputs[0].name))


def gathered(call: Call) -> Lowered:
    """TensorListGather, TensorListConcat: elements copied out one after the other."""
    result = call.output
    run = max(1, result.inner(0))
    return call.lowered((Copy(result.elements, result.dtype, contiguous=run),), "copy")
