"""Softmax, normalisations and losses of logits, which popnn has as ops of their own.

Keras writes layer normalisation as a batch normalisation of (1, rows, width, 1): its statistics belong to rows that lie
together, so it is a layer norm here too. Its scale and shift of one and zero are not parameters.
"""

from __future__ import annotations

from tremula.frontends.tensorflow.rules.call import Call
from tremula.frontends.tensorflow.rules.convolutions import channels_first
from tremula.lowering.elementwise import one_hot
from tremula.lowering.norms import norm
from tremula.lowering.norms import softmax as softmax_of
from tremula.program.lowered import Lowered
from tremula.program.work import Elementwise, Reduction, Work


def softmax(call: Call) -> Lowered:
    """Softmax, LogSoftmax and the composite of this package."""
    return call.lowered((
        softmax_of(call.given(0), logarithm=call.type == "LogSoftmax", gradient=call.backward),
    ))  # fmt: skip


def batch_norm(call: Call) -> Lowered:
    """FusedBatchNorm and its gradient, in all versions; with a factor of its own it keeps the running statistics."""
    gradient = "Grad" in call.type
    source = call.given(1 if gradient else 0)
    first = channels_first(call)
    channels = source.extent(1 if first else -1)
    training = bool(call.attribute("is_training", True))
    by_rows = first and len(source.shape) == 4 and source.shape[0] == 1 and source.shape[3] == 1
    kind = "layer" if by_rows and source.shape[1] > 1 else "batch"
    reduced = source.elements // max(1, channels)
    scale = call.node.inputs[2 if gradient else 1]
    works: list[Work] = []
    if training and not gradient and float(call.attribute("exponential_avg_factor", 1.0)) != 1.0:
        works += [
            Elementwise("axpby", running.elements, running.dtype, operands=2, in_place=True)
            for running in (call.given(3), call.given(4))
        ]
    parameters = 0 if call.facts.is_constant(scale) else channels
    call.facts.place(call.node.output, source.strides)
    works.insert(0, norm(kind, source, reduced, parameters, training=training, gradient=gradient))
    return call.lowered(works)


def cross_entropy(call: Call) -> Lowered:
    """SoftmaxCrossEntropyWithLogits, plain and sparse: the loss of each row, and its gradient if somebody reads it.

    The loss is a logarithmic softmax of which each row's label is picked (sparse) or which is weighted (plain).
    """
    logits = call.given(0)
    columns = logits.extent(-1)
    rows = logits.elements // max(1, columns)
    sparse = call.type.startswith("Sparse")
    pick = one_hot(logits.elements, rows, logits.dtype)
    weigh = Elementwise("mul", logits.elements, logits.dtype, operands=2)
    works: list[Work] = [
        softmax_of(logits, logarithm=True),
        pick if sparse else weigh,
        Reduction(rows, columns, 1, logits.dtype),
    ]
    gradient = call.node.outputs[1] if len(call.node.outputs) > 1 else None
    if gradient is not None and (call.facts.users(gradient) or gradient in call.facts.kept):
        operation = "exp+eq+sub" if sparse else "exp+sub"
        works.append(
            Elementwise(
                operation,
                logits.elements,
                logits.dtype,
                operands=2,
                broadcast_elements=rows if sparse else None,
            )
        )
    return call.lowered(works)


def local_response(call: Call) -> Lowered:
    """LRN and its gradient: sums of squares over neighbouring channels, a power, a quotient."""
    source = call.given(0)
    window = 2 * int(call.attribute("depth_radius", 5)) + 1
    works: list[Work] = [
        Elementwise("square", source.elements, source.dtype),
        Reduction(source.elements, window, 1, source.dtype),
        Elementwise("mul+add+pow+div", source.elements, source.dtype, operands=2),
    ]
    if call.type == "LRNGrad":
        works += [
            Reduction(source.elements, window, 1, source.dtype),
            Elementwise("mul+mul+mul+sub", source.elements, source.dtype, operands=4),
        ]
    return call.lowered(works)
