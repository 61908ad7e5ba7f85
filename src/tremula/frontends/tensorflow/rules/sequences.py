"""Sequences that TensorFlow has as one op: connectionist temporal classification, and blocks of recurrent layers.

The loss of a labelling is popnn's: log-probabilities of all prefixes (alpha) and suffixes (beta), step by step over the
labels with blanks between them, and from both the gradient of every class at every step.
"""

from __future__ import annotations

from tremula.frontends.tensorflow.rules.call import Call
from tremula.lowering.norms import softmax
from tremula.program.lowered import Lowered
from tremula.program.work import Elementwise, Recurrent, Reduction, Scatter, Work

_STEP = "logaddexp+logaddexp+add"
#: an op of a cell or a sequence -> kind, which input is the data, and which the state
_BLOCKS = {
    "BlockLSTM": ("lstm", 1, 3), "BlockLSTMV2": ("lstm", 1, 3), "BlockLSTMGrad": ("lstm", 1, 3),
    "BlockLSTMGradV2": ("lstm", 1, 3), "LSTMBlockCell": ("lstm", 0, 2), "LSTMBlockCellGrad": ("lstm", 0, 2),
    "GRUBlockCell": ("gru", 0, 1), "GRUBlockCellGrad": ("gru", 0, 1),
}  # fmt: skip

BLOCKS = tuple(_BLOCKS)


def labelling_loss(call: Call) -> Lowered:
    """CTCLoss and CTCLossV2: logits of (steps, batch, classes) and the labels as a sparse matrix."""
    logits = call.given(0)
    if len(logits.shape) != 3:
        return call.unknown()
    steps, batch, classes = logits.shape
    labels = -(-call.given(2).elements // max(1, batch)) if len(call.node.inputs) > 2 else steps
    places = batch * (2 * max(1, labels) + 1)
    step = Elementwise(_STEP, places, logits.dtype, operands=4)
    works: list[Work] = [softmax(logits, logarithm=True), *[step] * (2 * steps)]
    works += [
        Scatter(batch * classes, 1, places, logits.dtype),
        Reduction(batch * classes, steps, 1, logits.dtype),
        Elementwise("exp+sub", logits.elements, logits.dtype, operands=2),
    ]
    return call.lowered(works)


def greedy_decoder(call: Call) -> Lowered:
    """CTCGreedyDecoder: the best class of every step, repetitions left out."""
    logits = call.given(0)
    rows = logits.elements // max(1, logits.extent(-1))
    return call.lowered((
        Reduction(rows, logits.extent(-1), 1, logits.dtype, "argmax"),
        Elementwise("ne+select", rows, "int32", operands=2),
    ))  # fmt: skip


def beam_decoder(call: Call) -> Lowered:
    """CTCBeamSearchDecoder: at every step all extensions of all beams, and the best of them."""
    logits = call.given(0)
    if len(logits.shape) != 3:
        return call.unknown()
    steps, batch, classes = logits.shape
    beams = int(call.attribute("beam_width", 100))
    extend = Elementwise(_STEP, batch * beams * classes, logits.dtype, operands=3)
    choose = Reduction(batch * beams, beams * classes, 1, logits.dtype, "argmax")
    works: list[Work] = [softmax(logits, logarithm=True)]
    for _ in range(steps):
        works += [extend, choose]
    return call.lowered(works)


def block(call: Call) -> Lowered:
    """BlockLSTM, LSTMBlockCell and GRUBlockCell: the steps of one layer."""
    kind, data, state = _BLOCKS[call.type]
    x, h = call.given(data), call.given(state)
    steps = x.shape[0] if len(x.shape) == 3 else 1
    return call.lowered((
        Recurrent(
            kind=kind,
            steps=steps,
            batch=x.shape[-2],
            inputs=x.extent(-1),
            hidden=h.extent(-1),
            dtype=x.dtype,
            partials=call.partials(x.dtype),
            proportion=call.proportion,
            gradient="Grad" in call.type,
        ),
    ))  # fmt: skip
