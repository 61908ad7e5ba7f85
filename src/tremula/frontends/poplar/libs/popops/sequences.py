"""Copies of stretches of rows whose places and lengths are known when the program runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.mapping import check_writeable
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.program import work


@computing("popops.sequence_slice")
def sequence_slice_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: rows, counts, first rows to read, first rows to write; then the output where it is kept."""
    zero = attributes["zero"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        rows, out = inputs[0], outputs[0]
        counts, read, write = (each.astype(np.int64) for each in inputs[1:4])
        counts = np.clip(counts, 0, len(rows))
        owner = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        source, target = read[owner] + within, write[owner] + within
        kept = (source < len(rows)) & (target < len(out))
        found = rows.reshape(len(rows), -1)[source[kept]]
        if zero:
            out[...] = 0
        out[target[kept]] = found.reshape((-1, *out.shape[1:]))

    return compute


def sequence_slice(
    graph: Graph,
    rows: View,
    out: View,
    counts: View,
    read: View,
    write: View,
    zero: bool,
    program: Sequence_,
    name: str,
) -> None:
    """Copy stretches of rows to others; rows that none reaches become zero or stay as they are."""
    function = "popops::sequenceSlice"
    lengths = {tuple(each.shape) for each in (counts, read, write)}
    if len(lengths) != 1 or counts.rank != 1:
        raise PoplibsError(
            f"{function}: counts and offsets are vectors of one length, not of shapes "
            f"{[list(each) for each in sorted(lengths)]} ({user_line()})"
        )
    width = rows.elements // max(1, rows.shape[0]) if rows.rank else 0
    if rows.rank < 2 or out.rank < 2 or width != out.elements // max(1, out.shape[0]):
        raise PoplibsError(
            f"{function}: rows of tensors of shapes {list(rows.shape)} and {list(out.shape)} differ ({user_line()})"
        )
    if rows.type is not out.type:
        raise PoplibsError(
            f"{function}: rows of type {rows.type} cannot be copied to {out.type} ({user_line()})"
        )
    check_writeable(out, "the tensor for the result")
    inputs = [rows, counts, read, write, *([] if zero else [out])]
    works: list[work.Work] = [work.Copy(out.elements, work_type(out.type), max(1, width))]
    if zero:
        works.insert(0, work.Fill(out.elements, work_type(out.type)))
    calls.add_call(program, "popops.sequence_slice", inputs, [out], {"zero": zero}, works, name or function)
