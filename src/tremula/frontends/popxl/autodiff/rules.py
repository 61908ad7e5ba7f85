"""Backward passes that are written down: of cheap ops, of copies and collectives. Others are torch's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tremula.frontends.popxl.autodiff.calls import of_call, of_conditional
from tremula.frontends.popxl.autodiff.context import Backward
from tremula.frontends.popxl.autodiff.library_ops import of_library_op
from tremula.frontends.popxl.autodiff.loops import of_loop
from tremula.frontends.popxl.elements import is_float
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.model import Op, Tensor
from tremula.frontends.popxl.ops.gradients import Forward, backward_kind

Gradients = Mapping[int, Tensor]
#: context, op, gradients of its outputs, inputs that need one -> gradients of those inputs
Rule = Callable[[Backward, Op, Gradients, list[int]], dict[int, Tensor]]

#: ops through which no gradient passes
STOPS = frozenset(
    {
        "Detach", "Equal", "Greater", "Less", "And", "Or", "Not", "IsNaN", "IsInf", "ArgMax", "ArgMin", "Histogram",
        "Init", "HostLoad", "HostStore", "RemoteLoad", "RemoteStore", "RemoteCodeLoad", "ModifyRandomSeed",
        "RandomUniform", "RandomNormal", "Onehot", "LambSquare",
    }
)  # fmt: skip


def _shape(op: Op, index: int) -> dict[str, object]:
    return {"shape": op.inputs[index].type.shape}


def _sum(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    found = {}
    for index in wanted:
        sign = -1 if op.kind == "Subtract" and index == 1 else 1
        kind = f"{op.kind}Arg{index}Grad"
        attributes = {**_shape(op, index), "scale": sign}
        found[index] = context.part(op, index, kind, [gradients[0]], attributes)
    return found


def _product(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    return {
        index: context.part(
            op,
            index,
            f"MulArg{index}Grad",
            [gradients[0], context.value(op.inputs[1 - index])],
            _shape(op, index),
        )
        for index in wanted
    }


def _matmul(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    if 2 in op.inputs:
        raise graph_error("A product of float8 tensors cannot be differentiated.")
    found = {}
    for index in wanted:
        other = op.inputs[1 - index]
        attributes = {**_shape(op, index), "other_rank": len(other.type.shape)}
        kind = "MatMulRhsGrad" if index else "MatMulLhsGrad"
        found[index] = context.part(op, index, kind, [gradients[0], context.value(other)], attributes)
    return found


def _reshape(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    return {0: context.part(op, 0, "Reshape", [gradients[0]], _shape(op, 0))}


def _transpose(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    permutation = op.attributes["permutation"]
    back = tuple(sorted(range(len(permutation)), key=lambda axis: permutation[axis]))
    return {0: context.part(op, 0, "Transpose", [gradients[0]], {"permutation": back})}


def _cast(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    return {0: context.part(op, 0, "Cast", [gradients[0]], {"to": op.inputs[0].type.dtype})}


def _identity(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    return {0: context.part(op, 0, "Identity", [gradients[0]], {})}


def _negate(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    return {0: context.part(op, 0, "Negate", [gradients[0]], {})}


def _ipu_copy(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    back = {"source": op.attributes["destination"], "destination": op.attributes["source"]}
    return {0: context.part(op, 0, "IpuCopy", [gradients[0]], back)}


def _io_tile_copy(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    return {0: context.part(op, 0, "IoTileCopy", [gradients[0]], {})}


def _print(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    shown = op.attributes["print_gradient"]
    title = f"{op.attributes['title']}_gradient"
    attributes = {**op.attributes, "title": title, "print_self": shown}
    return {0: context.part(op, 0, "PrintTensor", [gradients[0]], attributes)}


def _replicated_all_gather(
    context: Backward, op: Op, gradients: Gradients, wanted: list[int]
) -> dict[int, Tensor]:
    attributes = {"op": "local", "assignment": op.attributes["assignment"], "for_sharding": False}
    part = context.part(op, 0, "ReplicatedReduceScatter", [gradients[0]], attributes)
    if part.type.shape != op.inputs[0].type.shape:
        part = context.part(op, 0, "Reshape", [part], _shape(op, 0))
    return {0: part}


def _replicated_reduce_scatter(
    context: Backward, op: Op, gradients: Gradients, wanted: list[int]
) -> dict[int, Tensor]:
    if op.attributes["op"] != "local":
        raise graph_error("A replicated reduce-scatter can be differentiated only if it slices (op 'local').")
    attributes = {"assignment": op.attributes["assignment"], **_shape(op, 0)}
    return {0: context.part(op, 0, "ReplicatedAllGather", [gradients[0]], attributes)}


def _all_reduce(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    attributes = op.attributes
    if attributes["op"] != "add":
        raise graph_error("An all-reduce can be differentiated only if it adds.")
    # gradients of identical outputs are identical: they are not added again
    if attributes["identical_grad_inputs"]:
        return {index: context.part(op, index, "Identity", [gradients[index]], {}) for index in wanted}
    names = {index: f"Gradient___{tensor.name}" for index, tensor in op.inputs.items()}
    back = {
        **attributes,
        "identical_inputs": attributes["identical_grad_inputs"],
        "identical_grad_inputs": attributes["identical_inputs"],
    }
    made = context.op(op, "AllReduce", dict(gradients), names, back)
    return {index: made.outputs[index] for index in wanted}


def _all_reduce_of_all(
    context: Backward, op: Op, gradients: Gradients, wanted: list[int]
) -> dict[int, Tensor]:
    """The loss is the sum of those of the replicas: the gradients of all of them are reduced in the same way."""
    if op.attributes["op"] not in ("add", "mean"):
        raise graph_error("An all-reduce can be differentiated only if it adds or takes the mean.")
    return {0: context.part(op, 0, "ReplicatedAllReduce", [gradients[0]], op.attributes)}


def _all_reduce_of_replicas(
    context: Backward, op: Op, gradients: Gradients, wanted: list[int]
) -> dict[int, Tensor]:
    attributes = op.attributes
    if attributes["op"] != "add":
        raise graph_error("An all-reduce can be differentiated only if it adds.")
    back = {
        **attributes,
        "identical_inputs": attributes["identical_grad_inputs"],
        "identical_grad_inputs": attributes["identical_inputs"],
    }
    return {0: context.part(op, 0, "ReplicatedAllReduceTP", [gradients[0]], back)}


def _exchanged(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    """Of ops that replicas compute together: torch differentiates what all of them do."""
    return _by_torch(context, op, gradients, wanted, "ExchangeGrad")


def generic(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    """By torch: the forward op is computed again, and differentiated."""
    return _by_torch(context, op, gradients, wanted, "")


def _by_torch(
    context: Backward, op: Op, gradients: Gradients, wanted: list[int], kind: str
) -> dict[int, Tensor]:
    wanted = [index for index in wanted if is_float(op.inputs[index].type.dtype)]
    given = sorted(gradients)
    if not wanted or not all(is_float(op.outputs[index].type.dtype) for index in given):
        return {}
    tensors = [gradients[index] for index in given] + [context.value(tensor) for tensor in op.input_list]
    names = {place: f"Gradient___{op.inputs[index].name}" for place, index in enumerate(wanted)}
    infos = {place: op.inputs[index].type for place, index in enumerate(wanted)}
    attributes: dict[str, object] = {"forward": Forward(op), "given": given, "wanted": wanted}
    if kind:
        attributes["assignment"] = op.attributes["assignment"]
    made = context.op(op, kind or backward_kind(op.kind), dict(enumerate(tensors)), names, attributes, infos)
    return {index: made.outputs[place] for place, index in enumerate(wanted)}


def _refused(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    raise graph_error(f"Ops of the kind {op.kind} cannot be differentiated.")


RULES: dict[str, Rule] = {
    "Add": _sum,
    "Subtract": _sum,
    "Mul": _product,
    "MatMul": _matmul,
    "Reshape": _reshape,
    "ReshapeInplace": _reshape,
    "Transpose": _transpose,
    "TransposeInplace": _transpose,
    "Cast": _cast,
    "Identity": _identity,
    "Negate": _negate,
    "IpuCopy": _ipu_copy,
    "IoTileCopy": _io_tile_copy,
    "PrintTensor": _print,
    "ReplicatedAllGather": _replicated_all_gather,
    "ReplicatedReduceScatter": _replicated_reduce_scatter,
    "ReplicatedAllReduce": _all_reduce_of_all,
    "AllReduce": _all_reduce,
    "ReplicatedAllReduceTP": _all_reduce_of_replicas,
    "CrossEntropySharded": _exchanged,
    "LayerNormDistributed": _exchanged,
    "LibraryOp": of_library_op,
    "Call": of_call,
    "Loop": of_loop,
    "If": of_conditional,
    "Pow2ScaleThenCast": _refused,
    "CastThenPow2Scale": _refused,
}
