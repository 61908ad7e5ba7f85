"""Encodings by indices: one-hot rows, ranges, single elements of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, outputs
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.mapping import check_writeable
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.program import work

#: an index that stands for no element
MASKED_LABEL_CODE = 0xFFFFFFFF


def _unsigned(indices: Any) -> Any:
    """Indices as the device compares them: 32 bits without a sign."""
    return indices.astype(np.int64) & MASKED_LABEL_CODE


@computing("popops.one_hot")
def one_hot_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: indices, and the values for on and off where they are tensors."""

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        out, indices = outputs[0], _unsigned(inputs[0])
        on, off = (inputs[1].reshape(()), inputs[2].reshape(())) if len(inputs) > 1 else (1, 0)
        out[...] = off
        rows = np.flatnonzero(indices < out.shape[1])
        out[rows, indices[rows]] = on

    return compute


def one_hot(
    graph: Graph,
    indices: View,
    encoded: View,
    values: tuple[View, View] | None,
    program: Sequence_,
    name: str,
) -> None:
    """Write rows of which one element is on."""
    if encoded.rank != 2 or indices.rank != 1 or indices.shape[0] != encoded.shape[0]:
        raise PoplibsError(
            f"popops::encodeOneHot: indices of shape {list(indices.shape)} for rows of a tensor of shape "
            f"{list(encoded.shape)} ({user_line()})"
        )
    if not indices.type.is_integral:
        raise PoplibsError(
            f"popops::encodeOneHot: indices are integers, not of type {indices.type} ({user_line()})"
        )
    check_writeable(encoded, "the encoded tensor")
    for each in values or ():
        if each.elements != 1 or each.type is not encoded.type:
            raise PoplibsError(
                f"popops::encodeOneHot: the values are one element of type {encoded.type} each ({user_line()})"
            )
    works: list[work.Work] = [
        work.Fill(encoded.elements, work_type(encoded.type)),
        work.Scatter(encoded.shape[1], 1, indices.elements, work_type(encoded.type), "set"),
    ]
    inputs = [indices, *(values or ())]
    calls.add_call(program, "popops.one_hot", inputs, [encoded], {}, works, name or "popops::encodeOneHot")


@computing("popops.iota")
def iota_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Consecutive integers, which wrap around."""
    start = attributes["start"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        numbers = np.arange(start, start + outputs[0].size, dtype=np.int64)
        outputs[0][...] = numbers.astype(outputs[0].dtype).reshape(outputs[0].shape)

    return compute


def iota(graph: Graph, view: View, start: int, program: Sequence_, name: str) -> None:
    """Write consecutive integers."""
    if view.rank != 1 or not view.type.is_integral:
        raise PoplibsError(
            f"popops::iota fills a vector of integers, not a tensor of shape {list(view.shape)} and type {view.type} "
            f"({user_line()})"
        )
    check_writeable(view, "the tensor to be filled")
    works = [work.Fill(view.elements, work_type(view.type))]
    calls.add_call(program, "popops.iota", [], [view], {"start": int(start)}, works, name or "popops::iota")


@computing("popops.select_scalar_from_rows")
def select_scalar_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """NaN where the index is outside, zero where it is masked."""

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        rows, indices = inputs[0], _unsigned(inputs[1])
        inside = indices < rows.shape[1]
        found = rows[np.arange(len(rows)), np.where(inside, indices, 0)]
        other = np.where(indices == MASKED_LABEL_CODE, 0, np.nan)
        outputs[0][...] = np.where(inside, found, other)

    return compute


@computing("popops.update_scalar_in_rows")
def update_scalar_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Subtract one from the named element of each row; a row whose index is outside becomes NaN."""

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        rows, indices = outputs[0], _unsigned(inputs[1])
        inside = np.flatnonzero(indices < rows.shape[1])
        rows[inside, indices[inside]] -= rows.dtype.type(1)
        rows[(indices >= rows.shape[1]) & (indices != MASKED_LABEL_CODE)] = np.nan

    return compute


def _check_rows(rows: View, indices: View, function: str) -> None:
    if rows.rank != 2 or indices.rank != 1 or rows.shape[0] != indices.shape[0]:
        raise PoplibsError(
            f"{function}: indices of shape {list(indices.shape)} for rows of a tensor of shape {list(rows.shape)} "
            f"({user_line()})"
        )
    if not rows.type.is_floating or not indices.type.is_integral:
        raise PoplibsError(
            f"{function}: rows of type {rows.type} and indices of type {indices.type}; float or half and integers "
            f"are needed ({user_line()})"
        )


def select_scalar_from_rows(graph: Graph, rows: View, indices: View, program: Sequence_, name: str) -> View:
    """One element of each row."""
    function = "popops::selectScalarFromRows"
    _check_rows(rows, indices, function)
    out = outputs.linear(graph, rows.type, (rows.shape[0],), name)
    works = [work.Gather(max(1, rows.shape[1]), 1, rows.shape[0], work_type(rows.type))]
    calls.add_call(
        program, "popops.select_scalar_from_rows", [rows, indices], [out], {}, works, name or function
    )
    return out


def update_scalar_in_rows(graph: Graph, rows: View, indices: View, program: Sequence_, name: str) -> None:
    """Subtract one from one element of each row."""
    function = "popops::updateScalarInRows"
    _check_rows(rows, indices, function)
    check_writeable(rows, "the tensor to be updated")
    works = [work.Scatter(max(1, rows.shape[1]), 1, rows.shape[0], work_type(rows.type), "add")]
    calls.add_call(
        program, "popops.update_scalar_in_rows", [rows, indices], [rows], {}, works, name or function
    )
