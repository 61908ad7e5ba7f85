"""Backward passes of operators of C++ libraries: the gradient operators that they define."""

from __future__ import annotations

from collections.abc import Mapping

from tremula.frontends.poplar.user_ops.popart_ops import FROM_INPUT, FROM_OUTPUT, Gradient, GradientInput
from tremula.frontends.popxl.autodiff.context import Backward
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.model import Op, Tensor
from tremula.frontends.popxl.ops.gradients import Forward
from tremula.frontends.popxl.ops.library_ops import (
    FORWARD,
    GRADIENT_KIND,
    NUMBER,
    ORIGINAL,
    gradients_of,
)

Gradients = Mapping[int, Tensor]


def of_library_op(context: Backward, op: Op, gradients: Gradients, wanted: list[int]) -> dict[int, Tensor]:
    """Several gradient operators may give parts of the gradient of one input."""
    defined = gradients_of(op)
    if not defined:
        raise graph_error(
            f"The custom op {op.attributes[ORIGINAL]} cannot be differentiated: its library defines no getGradOps."
        )
    found: dict[int, Tensor] = {}
    for number, gradient in enumerate(defined):
        if not set(wanted).intersection(gradient.gives):
            continue
        for index, part in _parts(context, op, number, gradient, gradients).items():
            if index in found:
                found[index] = context.part(op, index, "Sum", [found[index], part], {})
            elif index in wanted:
                found[index] = part
    return found


def _parts(
    context: Backward, op: Op, number: int, gradient: Gradient, gradients: Gradients
) -> dict[int, Tensor]:
    inputs = {place: _taken(context, op, take, gradients) for place, take in enumerate(gradient.takes)}
    names = {
        place: f"Gradient___{op.inputs[index].name}"
        if index in op.inputs
        else f"Gradient___{op.kind}_{place}"
        for place, index in enumerate(gradient.gives)
    }
    attributes = {FORWARD: Forward(op), NUMBER: number}
    made = context.op(op, GRADIENT_KIND, inputs, names, attributes)
    return {index: made.outputs[place] for place, index in enumerate(gradient.gives) if index in op.inputs}


def _taken(context: Backward, op: Op, take: GradientInput, gradients: Gradients) -> Tensor:
    if take.kind == FROM_INPUT:
        return context.value(op.inputs[take.number])
    output = op.outputs[take.number]
    if take.kind == FROM_OUTPUT:
        return context.value(output)
    if take.number in gradients:
        return gradients[take.number]
    # nothing depends on this output
    attributes = {"shape": output.type.shape, "dtype": output.type.dtype}
    zeros = context.op(op, "Init", {}, {0: f"Gradient___{output.name}"}, attributes)
    return zeros.outputs[0]
