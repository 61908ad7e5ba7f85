"""The connectionist temporal classification loss: minus the logarithm of the probability of all paths of a label.

Sums over paths run forwards and backwards in time, for all examples of a batch together, on logarithms. The chip model
takes each step of them as element-wise passes over the extended labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.checks import (
    Array,
    call,
    joined,
    need_floats,
    need_rank,
    need_shape,
    refuse,
    single,
)
from tremula.frontends.poplar.libs.options import PLANNED_BY_THE_MODEL, check, truth
from tremula.frontends.poplar.libs.outputs import linear
from tremula.frontends.poplar.libs.poplin.options import Options
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.types import Type
from tremula.program.work import Elementwise, Softmax, Work

#: stands for the logarithm of zero in sums, without the warnings of infinities
_NOTHING = np.float32(-1e30)


def loss(
    graph: Graph,
    type: Type,
    data: View,
    labels: View,
    data_lengths: View,
    label_lengths: View,
    prog: Program,
    blank: int,
    *,
    logits: bool,
    gradient: bool,
    debug: str,
    options: Options | None,
) -> tuple[View, View | None]:
    """The loss of each example and, if asked for, the gradient. Data are time by batch by classes."""
    where = "calcCTCLoss"
    need_rank(where, "data", data, 3)
    need_rank(where, "tensor of labels", labels, 2)
    need_floats(where, data)
    _, batch, classes = data.shape
    need_shape(where, "tensor of data lengths", data_lengths, (batch,))
    need_shape(where, "tensor of label lengths", label_lengths, (batch,))
    if labels.shape[0] != batch or not 0 <= blank < classes:
        raise refuse(
            where, f"labels {list(labels.shape)} or blank class {blank} do not fit data {list(data.shape)}"
        )
    honoured = ("includeSoftmaxGradient", "zeroInfinity")
    others = (
        "zeroInfinityRelTolerance",
        "returnReducedCodeletGradient",
        "availableMemoryProportion",
        "partialsType",
    )
    check(where, options or {}, honoured, dict.fromkeys(others, PLANNED_BY_THE_MODEL))
    with_softmax = truth(where, options or {}, "includeSoftmaxGradient", True)
    zero = truth(where, options or {}, "zeroInfinity", False)
    made = linear(graph, type, (batch,), joined(debug, "loss"))
    slope = linear(graph, type, data.shape, joined(debug, "gradient")) if gradient else None
    call(
        prog,
        "popnn.ctcLoss",
        [data, labels, data_lengths, label_lengths],
        [made] if slope is None else [made, slope],
        _works(data, 2 * labels.shape[1] + 1, logits, gradient),
        debug,
        blank=int(blank),
        logits=logits,
        softmax=with_softmax or logits,
        zero=zero,
    )
    return made, slope


def _works(data: View, extended: int, logits: bool, gradient: bool) -> list[Work]:
    steps, batch, classes = data.shape
    name = work_type(data.type)
    turns = steps * (2 if gradient else 1)
    works: list[Work] = [Elementwise("exp+add+exp+add+log+add", batch * extended, name, operands=3)] * turns
    if logits:
        works.insert(0, Softmax(steps * batch, classes, name, logarithm=True))
    if gradient:
        works.append(Elementwise("exp+sub", data.elements, name, operands=2))
    return works


# -- kernels ------------------------------------------------------------------------------------------------------


def _extended(labels: Array, blank: int) -> tuple[Array, Array]:
    """Labels with blanks around each, and where a path may leave out the blank before."""
    batch, length = labels.shape
    made = np.full((batch, 2 * length + 1), blank, dtype=np.int64)
    made[:, 1::2] = labels
    skips = np.zeros(made.shape, dtype=bool)
    skips[:, 2:] = (made[:, 2:] != blank) & (made[:, 2:] != made[:, :-2])
    return made, skips


def _shifted(values: Array, by: int) -> Array:
    made = np.full(values.shape, _NOTHING, np.float32)
    made[:, by:] = values[:, : values.shape[1] - by]
    return made


def _forward(chances: Array, skips: Array) -> Array:
    """The logarithm of all paths to each place, with the place itself."""
    steps, _, places = chances.shape
    found = np.full(chances.shape, _NOTHING, np.float32)
    if steps:
        found[0, :, : min(2, places)] = chances[0, :, : min(2, places)]
    for step in range(1, steps):
        before = found[step - 1]
        both = np.logaddexp(before, _shifted(before, 1))
        leap = np.where(skips, _shifted(before, 2), _NOTHING)
        found[step] = np.maximum(np.logaddexp(both, leap) + chances[step], _NOTHING)
    return found


class _Example:
    """One example: its loss, and what each class takes part in its paths."""

    def __init__(self, data: Array, labels: Array, blank: int) -> None:
        extended, skips = _extended(labels[None], blank)
        chances = np.maximum(data[:, extended[0]], _NOTHING)[:, None]
        self.extended = extended[0]
        forward = _forward(chances, skips)
        turned = np.zeros(skips.shape, dtype=bool)
        turned[:, 2:] = skips[:, ::-1][:, :-2]
        self.chances = chances[:, 0]
        self.forward = forward[:, 0]
        self.backward = _forward(chances[::-1, :, ::-1], turned)[::-1, 0, ::-1]
        ends = self.forward[-1, -2:] if len(data) else np.full(1, 0 if not len(labels) else _NOTHING)
        self.loss = -float(np.logaddexp.reduce(ends))

    @property
    def possible(self) -> bool:
        """Whether there is a path."""
        return self.loss < -float(_NOTHING) / 2

    def shares(self, classes: int) -> Array:
        """For each step and class the probability that the path is there."""
        found = np.zeros((len(self.chances), classes), np.float32)
        places = np.exp(np.minimum(self.forward + self.backward - self.chances + np.float32(self.loss), 0))
        for place, extended in enumerate(self.extended.tolist()):
            found[:, extended] += places[:, place]
        return found


@computing("popnn.ctcLoss")
def _loss(attributes: Mapping[str, Any]) -> Kernel:
    blank, logits, softmax, zero = (attributes[name] for name in ("blank", "logits", "softmax", "zero"))

    def run(inputs: Arrays, outputs: Arrays) -> None:
        data = single(inputs[0])
        if logits:
            rest = data - data.max(axis=2, keepdims=True)
            data = rest - np.log(np.exp(rest).sum(axis=2, keepdims=True))
        steps, batch, classes = data.shape
        slopes = np.zeros(data.shape, np.float32)
        for number in range(batch):
            length = min(int(inputs[2][number]), steps)
            labels = inputs[1][number, : int(inputs[3][number])].astype(np.int64)
            example = _Example(data[:length, number], labels, blank)
            outputs[0][number] = example.loss if example.possible else (0 if zero else np.inf)
            if len(outputs) > 1 and (example.possible or not zero):
                slope = -example.shares(classes)
                slopes[:length, number] = slope + np.exp(data[:length, number]) if softmax else slope
        if len(outputs) > 1:
            outputs[1][...] = slopes

    return run
