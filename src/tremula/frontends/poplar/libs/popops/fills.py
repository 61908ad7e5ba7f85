"""Constants written to tensors, and changes of type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.concat import concat
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, outputs, vertices
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops import vertex_types
from tremula.frontends.poplar.libs.popops.arithmetic import converted
from tremula.frontends.poplar.libs.popops.mapping import check_writeable
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import Type
from tremula.program import work


@computing("popops.fill")
def fill_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """The constant has the output's type already."""
    value = attributes["value"]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        outputs[0].fill(value)

    return compute


@computing("popops.cast")
def cast_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """The same numbers in the output's type."""

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        outputs[0][...] = converted(inputs[0], outputs[0].dtype)

    return compute


def constant(graph: Graph, type: Type, value: Any) -> Any:
    """A plain number as an element of `type` holds it."""
    return converted(np.asarray(value), graph.storage(type)).item()


def fill(graph: Graph, view: View, value: Any, program: Sequence_, name: str) -> None:
    """Write a constant to all elements."""
    check_writeable(view, "the tensor to be filled")
    attributes = {"value": constant(graph, view.type, value)}
    works = [work.Fill(view.elements, work_type(view.type))]
    calls.add_call(program, "popops.fill", [], [view], attributes, works, name)


def fill_in(
    graph: Graph,
    view: View,
    where: Sequence[tuple[int, Sequence[tuple[int, int]]]],
    compute_set: ComputeSet,
    value: Any,
) -> None:
    """Add vertices that write a constant: one on each tile, to those stretches of the flattened tensor."""
    name = vertices.register(graph, vertex_types.fill(view.type, constant(graph, view.type, value)))
    flat = view.flatten()
    places = [(tile, each) for tile, each in where if each]
    parts = [concat([flat.slice_dimension(begin, end) for begin, end in each]) for _, each in places]
    tiles = np.array([graph.tile(tile) for tile, _ in places], dtype=np.int64)
    vertices.add_column(graph, compute_set, name, tiles, {"out": parts}, {})


def cast(graph: Graph, view: View, out: View, program: Sequence_, name: str) -> None:
    """Write a tensor in another type."""
    _check_cast(view, out)
    copy = view.type is out.type
    kind = work_type(view.type), work_type(out.type)
    works: list[work.Work] = [
        work.Copy(view.elements, kind[0], max(1, view.elements)) if copy else work.Cast(view.elements, *kind)
    ]
    calls.add_call(program, "popops.cast", [view], [out], {}, works, name)


def cast_in(graph: Graph, view: View, out: View, compute_set: ComputeSet) -> None:
    """Add vertices that write a tensor in another type, on the tiles of the output."""
    _check_cast(view, out)
    codelet = vertex_types.cast(view.type, out.type)
    vertices.add_on_tiles(graph, compute_set, codelet, out, [view])


def cast_output(graph: Graph, view: View, type: Type, name: str) -> View:
    """A tensor for a cast: on the same tiles."""
    if view.has_aliases():
        return outputs.linear(graph, type, view.shape, name)
    return outputs.like(graph, view, type, name)


def _check_cast(view: View, out: View) -> None:
    if tuple(view.shape) != tuple(out.shape):
        raise PoplibsError(
            f"a cast from a tensor of shape {list(view.shape)} to one of shape {list(out.shape)} ({user_line()})"
        )
    check_writeable(out, "the tensor for the result of a cast")
