"""Softmax and normalisations, which popnn has as ops of their own, forward and gradient."""

from __future__ import annotations

import math

from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.operand import Operand
from tremula.lowering import norms as lowering
from tremula.program.lowered import Lowered
from tremula.program.work import Elementwise, Norm, Reduction, Work


def softmax(call: Call) -> Lowered:
    """_softmax, _log_softmax, _safe_softmax and their gradients."""
    return call.lowered((
        lowering.softmax(
            call.given(0),
            int(call.argument("dim", -1)),
            logarithm="log_softmax" in call.name,
            gradient="backward" in call.name,
        ),
    ))  # fmt: skip


def layer_norm(call: Call) -> Lowered:
    """native_layer_norm, forward and gradient."""
    source = call.tensor("input") or call.given(0)
    reduced = math.prod(call.argument("normalized_shape"))
    return call.lowered((_norm(call, "layer", source, reduced, reduced),))


def group_norm(call: Call) -> Lowered:
    """native_group_norm, forward and gradient."""
    source = call.tensor("input") or call.given(0)
    statistics = max(1, int(call.argument("N", 1)) * int(call.argument("group", 1)))
    return call.lowered(
        (_norm(call, "group", source, source.elements // statistics, int(call.argument("C"))),)
    )


def batch_norm(call: Call) -> Lowered:
    """native_batch_norm in its variants; in training with an update of the running statistics."""
    source = call.tensor("input") or call.given(0)
    channels = source.extent(1) if len(source.shape) > 1 else source.elements
    training = _trains(call)
    works: list[Work] = [
        _norm(call, "batch", source, source.elements // max(1, channels), channels, training=training)
    ]
    if training and "backward" not in call.name:
        works += [
            Elementwise("axpby", running.elements, running.dtype, operands=2, in_place=True)
            for running in (call.tensor("running_mean"), call.tensor("running_var"))
            if running is not None
        ]
    return call.lowered(works)


def _trains(call: Call) -> bool:
    if "no_training" in call.name:
        return False
    return bool(call.argument("training", call.argument("train", call.argument("update", True))))


def _norm(
    call: Call, kind: str, source: Operand, reduced: int, parameters: int, training: bool = True
) -> Norm:
    scaled = call.tensor("weight") is not None or call.tensor("bias") is not None
    return lowering.norm(
        kind,
        source,
        reduced,
        parameters if scaled else 0,
        training=training,
        gradient="backward" in call.name,
    )


def weight_norm(call: Call) -> Lowered:
    """A weight divided by its norm, forward and gradient."""
    weight = call.tensor("v") or call.tensor("saved_v") or call.given(0)
    norm = call.tensor("g") or call.tensor("saved_g") or call.given(1)
    kept = max(1, norm.elements)
    backward = "backward" in call.name
    reduction = Reduction(
        kept, weight.elements // kept, 1, weight.dtype, operation="add" if backward else "square_add"
    )
    scale = Elementwise("mul", weight.elements, weight.dtype, operands=2, broadcast_elements=kept)
    if backward:
        pass_ = Elementwise("mul", weight.elements, weight.dtype, operands=2)
        return call.lowered(
            (pass_, reduction, scale, Elementwise("scaled_add", weight.elements, weight.dtype, 2))
        )
    return call.lowered((reduction, Elementwise("sqrt", kept, weight.dtype), scale))
