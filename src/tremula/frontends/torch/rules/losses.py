"""Losses that torch records as one op.

Negative log-likelihood is done as popnn does it: each probability is compared with its class and kept or not
(one pass over all classes), then summed. The others are the passes that PopTorch writes them in.
"""

from __future__ import annotations

import math

from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.elementwise import element_passes
from tremula.lowering.elementwise import one_hot
from tremula.program.lowered import Lowered
from tremula.program.work import Elementwise, Reduction, Work

_PASSES = {
    "mse_loss": ("sub", "square"),
    "smooth_l1_loss": ("sub", "abs+lt+square+mul+sub+select"),
    "huber_loss": ("sub", "abs+lt+square+mul+sub+select"),
    "soft_margin_loss": ("mul", "neg+exp+log1p"),
    "binary_cross_entropy": ("log", "mul", "sub", "log", "mul", "add", "neg"),
    "mse_loss_backward": ("sub", "mul"),
    "smooth_l1_loss_backward": ("sub", "clamp", "mul"),
    "huber_loss_backward": ("sub", "clamp", "mul"),
    "soft_margin_loss_backward": ("mul", "sigmoid", "mul", "mul"),
    "binary_cross_entropy_backward": ("sub", "sub", "mul", "div", "mul"),
}

NAMES = frozenset(_PASSES)


def plain_loss(call: Call) -> Lowered:
    """A loss of element-wise passes, and the reduction that it asks for."""
    backward = call.name.endswith("_backward")
    source = call.tensor("self") or call.given(0)
    operands = [o for o in call.tensors() if o.elements == source.elements]
    works = element_passes(call, _PASSES[call.name], operands, source)
    if not backward and int(call.argument("reduction", 1)) != 0:
        works.append(Reduction(1, source.elements, 1, source.dtype))
    return call.lowered(works)


def nll_loss(call: Call) -> Lowered:
    """nll_loss_forward and its form for images."""
    source = call.tensor("self") or call.given(0)
    classes = source.extent(1 if len(source.shape) > 1 else 0)
    rows = source.elements // max(1, classes)
    works: list[Work] = [
        one_hot(source.elements, rows, source.dtype),
        Reduction(rows, classes, 1, source.dtype),
    ]
    if int(call.argument("reduction", 1)) != 0 and rows > 1:
        works.append(Reduction(1, rows, 1, source.dtype))
    return call.lowered(works)


def nll_loss_gradient(call: Call) -> Lowered:
    """The gradient in the place of each class, zero elsewhere."""
    source = call.tensor("self") or call.output
    classes = source.extent(1 if len(source.shape) > 1 else 0)
    rows = source.elements // max(1, classes)
    kept = tuple(name for name in call.op.inputs if source.node is None or name != source.node.name)
    return call.lowered((one_hot(source.elements, rows, source.dtype),), reads=kept)


def distances(call: Call) -> Lowered:
    """_cdist_forward and _euclidean_dist: differences of all pairs, and their norm."""
    one, other, result = call.given(0), call.given(1), call.output
    width = one.extent(-1)
    elements = result.elements * width
    works: list[Work] = [
        Elementwise(
            "sub", elements, one.dtype, operands=2, broadcast_elements=max(one.elements, other.elements)
        ),
    ]
    if call.argument("p", 2.0) in (2, 2.0):
        works += [
            Reduction(result.elements, width, 1, one.dtype, "square_add"),
            Elementwise("sqrt", result.elements, result.dtype),
        ]
    else:
        works += [
            Elementwise("abs+pow", elements, one.dtype, 2, broadcast_elements=1, in_place=True),
            Reduction(result.elements, width, 1, one.dtype),
            Elementwise("pow", result.elements, result.dtype, 2, broadcast_elements=1),
        ]
    return call.lowered(works)


def trilinear(call: Call) -> Lowered:
    """_trilinear: the product of three broadcast tensors, summed over some dimensions."""
    operands = call.tensors()
    expands = [call.argument(f"expand{i}", ()) for i in (1, 2, 3)]
    if len(operands) != 3:
        return call.unknown()
    shapes = []
    for o, expand in zip(operands, expands, strict=True):
        shape = list(o.shape)
        for d in sorted(int(d) for d in expand):
            shape.insert(d, 1)
        shapes.append(shape)
    whole = [max(extents) for extents in zip(*shapes, strict=True)]
    elements, kept = math.prod(whole), call.output.elements
    dtype = operands[0].dtype
    return call.lowered((
        Elementwise("mul+mul", elements, dtype, operands=3, broadcast_elements=operands[1].elements),
        Reduction(kept, max(1, elements // max(1, kept)), 1, dtype),
    ))  # fmt: skip


def logits_loss(call: Call) -> Lowered:
    """binary_cross_entropy_with_logits, as the passes of its stable form."""
    source = call.given(0)
    operands = [o for o in call.tensors() if o.elements == source.elements]
    works = element_passes(call, ("sub+mul", "log_sigmoid", "sub"), operands, source)
    if int(call.argument("reduction", 1)) != 0:
        works.append(Reduction(1, source.elements, 1, source.dtype))
    return call.lowered(works)
