"""Expressions as functions of arrays, made once from their nested lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.libs.calls import computing
from tremula.frontends.poplar.libs.popops.arithmetic import FUNCTIONS, converted
from tremula.frontends.poplar.program.library import Arrays, Kernel

Array = NDArray[Any]
Evaluate = Callable[[Arrays], Array]


def compiled(tree: Sequence[Any]) -> Evaluate:
    """A function of the operands' arrays. Trees: [number], ["const", dtype, value], ["cast", tree, dtype], or an
    operation's name followed by trees."""
    head = tree[0]
    if isinstance(head, int):
        number = head
        return lambda arrays: np.asarray(arrays[number])
    if head == "const":
        value = np.asarray(tree[2])
        constant = converted(value, np.dtype(tree[1])) if value.dtype.kind == "f" else value.astype(tree[1])
        return lambda arrays: constant
    if head == "cast":
        inner, dtype = compiled(tree[1]), np.dtype(tree[2])
        return lambda arrays: converted(np.asarray(inner(arrays)), dtype)
    function = FUNCTIONS[head]
    arguments = [compiled(each) for each in tree[1:]]
    if len(arguments) == 1:
        only = arguments[0]
        return lambda arrays: np.asarray(function(only(arrays)))
    if len(arguments) == 2:
        first, second = arguments
        return lambda arrays: np.asarray(function(first(arrays), second(arrays)))
    return lambda arrays: np.asarray(function(*(each(arrays) for each in arguments)))


def _direct(tree: Sequence[Any]) -> tuple[np.ufunc, list[Evaluate]] | None:
    """The operation at the root with its operands, if it may write to the output itself."""
    function = FUNCTIONS.get(tree[0]) if isinstance(tree[0], str) else None
    if not isinstance(function, np.ufunc):
        return None
    return function, [compiled(each) for each in tree[1:]]


@computing("popops.map")
def map_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """The kernel of an element-wise function: one tree for each output."""
    trees = attributes["trees"]
    if len(trees) == 1:
        direct = _direct(trees[0])
        if direct is not None:
            return _writing(*direct)
    evaluate = [compiled(tree) for tree in trees]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        # all results before the first is written: an output may be an operand
        results = [each(inputs) for each in evaluate]
        for output, result in zip(outputs, results, strict=True):
            output[...] = result

    return compute


def _writing(function: np.ufunc, arguments: list[Evaluate]) -> Kernel:
    def compute(inputs: Arrays, outputs: Arrays) -> None:
        function(*(each(inputs) for each in arguments), out=outputs[0], casting="unsafe")

    return compute
