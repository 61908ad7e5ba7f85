"""Losses of classifiers with their gradients, counts of right answers, and the largest or smallest elements of rows."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
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
from tremula.frontends.poplar.libs.outputs import linear
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Program, Sequence_
from tremula.frontends.poplar.types import FLOAT, HALF, INT, UNSIGNED_INT
from tremula.program.work import Elementwise, Reduction, Sort, Work

#: a label that is not counted
MASKED_LABEL_CODE = 0xFFFFFFFF
_EPS = {"FLOAT": 1.17549435e-38, "HALF": 0.000000059605}


class LossType(Enum):
    """The losses."""

    SUM_SQUARED_LOSS = 0
    CROSS_ENTROPY_LOSS = 1


def _check_labels(where: str, outputs: View, expected: View) -> None:
    need_rank(where, "tensor of outputs", outputs, 2)
    need_floats(where, outputs)
    need_shape(where, "tensor of labels", expected, outputs.shape[:1])
    if expected.type not in (INT, UNSIGNED_INT):
        raise refuse(where, f"labels have to be INT or UNSIGNED_INT, not {expected.type}")


def loss(
    outputs: View,
    expected: View,
    result: View,
    deltas: View,
    scales: tuple[View, View] | None,
    kind: LossType,
    debug: str,
) -> Sequence_:
    """The loss of each row and the gradient of the outputs, as a program. `scales`: of deltas and of outputs."""
    where = "calcLoss"
    _check_labels(where, outputs, expected)
    need_shape(where, "loss", result, outputs.shape[:1])
    need_shape(where, "tensor of gradients", deltas, outputs.shape)
    if scales is not None and kind is LossType.SUM_SQUARED_LOSS:
        raise refuse(where, "only the cross entropy can be scaled")
    kind_name = work_type(outputs.type)
    batch, classes = outputs.shape
    step = "sub+square+mul" if kind is LossType.SUM_SQUARED_LOSS else "add+log+mul+sub"
    works: list[Work] = [
        Elementwise("select", outputs.elements, kind_name),
        Elementwise(step, outputs.elements, kind_name, operands=2),
        Reduction(batch, classes, 1, kind_name),
    ]
    inputs = [outputs, expected, *(scales or ())]
    prog = Sequence_()
    eps = _EPS[outputs.type.name]
    call(prog, "popnn.calcLoss", inputs, [result, deltas], works, debug, kind=kind.name, eps=eps)
    return prog


def accuracy(outputs: View, expected: View, count: View, debug: str) -> Sequence_:
    """Add the number of rows whose largest element is that of the label to `count`, as a program."""
    where = "calcAccuracy"
    _check_labels(where, outputs, expected)
    if count.elements != 1:
        raise refuse(where, f"numCorrect has {count.elements} elements instead of one")
    prog = Sequence_()
    works = [_extreme_work(outputs, "argmax")]
    call(prog, "popnn.calcAccuracy", [outputs, expected, count], [count], works, debug)
    return prog


def _extreme_work(values: View, operation: str) -> Work:
    return Reduction(values.shape[0], values.shape[1], 1, work_type(values.type), operation, "uint32")


def extremes(
    graph: Graph, where: str, values: View, largest: bool, prog: Program, debug: str
) -> tuple[View, View]:
    """The largest or smallest element of each row, and its place."""
    need_rank(where, "tensor", values, 2)
    if values.type not in (FLOAT, HALF, INT, UNSIGNED_INT):
        raise refuse(where, f"elements of type {values.type} are not ordered here")
    rows = values.shape[:1]
    found = linear(graph, values.type, rows, joined(debug, "value"))
    places = linear(graph, UNSIGNED_INT, rows, joined(debug, "index"))
    work = _extreme_work(values, "argmax" if largest else "argmin")
    call(prog, "popnn.maxAndArgMax", [values], [found, places], [work], debug, largest=largest)
    return found, places


def largest(
    graph: Graph, values: View, count: int, ordered: bool, prog: Program, debug: str
) -> tuple[View, View]:
    """The `count` largest elements of each row and their places, each of shape rows by 1 by count."""
    where = "topK"
    need_rank(where, "tensor", values, 2)
    if not 0 < count <= values.shape[1]:
        raise refuse(where, f"there are no {count} largest among {values.shape[1]} elements")
    shape = (values.shape[0], count)
    found = linear(graph, values.type, shape, joined(debug, "value"))
    places = linear(graph, UNSIGNED_INT, shape, joined(debug, "index"))
    work = Sort(values.shape[0], values.shape[1], work_type(values.type), k=count)
    call(prog, "popnn.topK", [values], [found, places], [work], debug, ordered=bool(ordered))
    return found.expand([1]), places.expand([1])


# -- kernels ------------------------------------------------------------------------------------------------------


def _one_hot(labels: Array, classes: int) -> Array:
    return np.asarray(labels.astype(np.int64)[:, None] == np.arange(classes), dtype=np.float32)


def _masked(labels: Array) -> Array:
    return np.asarray((labels.astype(np.int64) & 0xFFFFFFFF) == MASKED_LABEL_CODE)


@computing("popnn.calcLoss")
def _loss(attributes: Mapping[str, Any]) -> Kernel:
    squared = attributes["kind"] == LossType.SUM_SQUARED_LOSS.name
    eps = np.float32(attributes["eps"])

    def run(inputs: Arrays, outputs: Arrays) -> None:
        values, labels = single(inputs[0]), inputs[1]
        expected = _one_hot(labels, values.shape[1])
        if squared:
            deltas = values - expected
            outputs[0][...] = (np.float32(0.5) * deltas * deltas).sum(axis=1)
            outputs[1][...] = deltas
            return
        scale, factor = (single(each).reshape(-1)[0] for each in inputs[2:]) if len(inputs) > 2 else (1, 1)
        deltas = (values - expected * factor) * np.float32(scale / factor)
        if len(labels) > 1:
            deltas[_masked(labels)] = 0
        logarithms = np.log(values + eps) - np.log(np.float32(factor))
        outputs[0][...] = -np.where(expected != 0, logarithms, 0).sum(axis=1)
        outputs[1][...] = deltas

    return run


@computing("popnn.calcAccuracy")
def _accuracy(_: Mapping[str, Any]) -> Kernel:
    def run(inputs: Arrays, outputs: Arrays) -> None:
        values, labels, count = inputs
        right = (np.argmax(values, axis=1) == labels.astype(np.int64)) & ~_masked(labels)
        outputs[0][...] = count + count.dtype.type(int(right.sum()))

    return run


@computing("popnn.maxAndArgMax")
def _extremes(attributes: Mapping[str, Any]) -> Kernel:
    find = np.argmax if attributes["largest"] else np.argmin

    def run(inputs: Arrays, outputs: Arrays) -> None:
        values = inputs[0]
        places = find(values, axis=1)
        outputs[0][...] = np.take_along_axis(values, places[:, None], axis=1)[:, 0]
        outputs[1][...] = places

    return run


@computing("popnn.topK")
def _largest(attributes: Mapping[str, Any]) -> Kernel:
    def run(inputs: Arrays, outputs: Arrays) -> None:
        values = inputs[0]
        count = outputs[0].shape[1]
        places = np.argsort(values[:, ::-1], axis=1, kind="stable")[:, ::-1][:, :count]
        places = values.shape[1] - 1 - places
        outputs[0][...] = np.take_along_axis(values, places, axis=1)
        outputs[1][...] = places

    return run
