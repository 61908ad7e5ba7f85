"""Library functions, bound to the memories of replicas.

A kernel gets arrays of the memory itself where strides say where the elements lie; other operands are gathered before
the call and scattered after. What a kernel reads is copied first where it overlaps with what it writes, unless both are
the same elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.errors import LinkError
from tremula.frontends.poplar.execute import moves, values
from tremula.frontends.poplar.execute.arena import Arena
from tremula.frontends.poplar.execute.moves import Call
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program.library import (
    LibraryCall,
    across_kernel_maker,
    import_library,
    kernel_maker,
)

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class _Operands:
    """The arrays of a call for one replica, and the copies around it."""

    inputs: Sequence[Array]
    outputs: Sequence[Array]
    before: Sequence[Call]
    after: Sequence[Call]


def _operands(call: LibraryCall, arena: Arena) -> _Operands:
    before: list[Call] = []
    after: list[Call] = []
    outputs: list[Array] = []
    for view in call.outputs:
        array = values.in_place(view, arena)
        if array is None:
            array = np.zeros(view.shape, view.graph.storage(view.type))
            before.append(_fill(array, values.reader(view, arena)))
            after.append(_give(array, values.writer(view, arena)))
        outputs.append(array)
    inputs: list[Array] = []
    for view in call.inputs:
        same = next((n for n, each in enumerate(call.outputs) if each.same_elements(view)), None)
        if same is not None:
            inputs.append(outputs[same])
            continue
        array = values.in_place(view, arena)
        if array is None or _meets(view, call.outputs):
            array = np.zeros(view.shape, view.graph.storage(view.type))
            before.append(_fill(array, values.reader(view, arena)))
        inputs.append(array)
    return _Operands(inputs, outputs, before, after)


def _meets(view: View, others: Sequence[View]) -> bool:
    first, end = moves.of_view(view).bounds()
    for other in others:
        low, high = moves.of_view(other).bounds()
        if first < high and low < end:
            return True
    return False


def _fill(array: Array, read: values.Read) -> Call:
    return lambda: np.copyto(array, read())


def _give(array: Array, write: values.Write) -> Call:
    return lambda: write(array)


def crosses_replicas(call: LibraryCall) -> bool:
    """Whether a function exchanges data between replicas; one that is not there is an error."""
    if kernel_maker(call.function) is None and across_kernel_maker(call.function) is None:
        import_library(call.function)
    if kernel_maker(call.function) is not None:
        return False
    if across_kernel_maker(call.function) is None:
        raise LinkError(f"there is no library function {call.function!r} in this version of Tremula")
    return True


def bind(call: LibraryCall, arena: Arena) -> Call:
    """One call for one replica."""
    maker = kernel_maker(call.function)
    if maker is None:
        raise LinkError(f"library function {call.function!r} works across replicas")
    kernel = maker(call.attributes)
    operands = _operands(call, arena)
    inputs, outputs = operands.inputs, operands.outputs
    if not operands.before and not operands.after:
        return lambda: kernel(inputs, outputs)

    def run() -> None:
        for each in operands.before:
            each()
        kernel(inputs, outputs)
        for each in operands.after:
            each()

    return run


def bind_across(call: LibraryCall, arenas: Sequence[Arena]) -> Callable[[], None]:
    """One call for all replicas together."""
    maker = across_kernel_maker(call.function)
    if maker is None:
        raise LinkError(f"library function {call.function!r} does not work across replicas")
    kernel = maker(call.attributes)
    operands = [_operands(call, arena) for arena in arenas]
    inputs, outputs = [each.inputs for each in operands], [each.outputs for each in operands]

    def run() -> None:
        for each in operands:
            for call in each.before:
                call()
        kernel(inputs, outputs)
        for each in operands:
            for call in each.after:
                call()

    return run
