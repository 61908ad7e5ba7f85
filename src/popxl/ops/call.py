"""Calls of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import popart._internal.ir as _ir

from ..context import get_current_context
from ..graph import Graph
from ..tensor import Tensor, TensorLike
from ..utils import table_to_string
from .utils import check_in_graph


class CallSiteInfo:
    """A call, and which tensors of the graph and of its caller belong together."""

    def __init__(self, subgraph_op: _ir.Op) -> None:
        self._op = subgraph_op

    @property
    def called_graph(self) -> Graph:
        """The graph that is called."""
        return Graph._from_pb(self._op.getCalledGraphs()[0])

    def graph_to_parent_input_index(self, idx: int) -> int:
        """Index of the op's input for one of the graph's."""
        return self._op.subgraphInToOpInIndex(idx)

    def parent_to_graph_input_index(self, idx: int) -> int:
        """Index of the graph's input for one of the op's."""
        return self._op.opInToSubgraphInIndex(idx)

    def graph_to_parent_output_index(self, idx: int) -> int:
        """Index of the op's output for one of the graph's."""
        return self._op.subgraphOutToOpOutIndex(idx)

    def parent_to_graph_output_index(self, idx: int) -> int:
        """Index of the graph's output for one of the op's."""
        return self._op.opOutToSubgraphOutIndex(idx)

    def graph_to_parent(self, graph_tensor: Tensor) -> Tensor:
        """The caller's tensor for an input or output of the graph."""
        for graph in self._op.getCalledGraphs():
            if graph.hasInputId(graph_tensor.id):
                return self.parent_input(
                    self.graph_to_parent_input_index(graph.getInputIndex(graph_tensor.id))
                )
            if graph.hasOutputId(graph_tensor.id):
                return self.parent_output(
                    self.graph_to_parent_output_index(graph.getOutputIndex(graph_tensor.id))
                )
        raise ValueError(f"{graph_tensor.name} is neither an input nor an output of the called graph.")

    def parent_to_graph(self, parent_tensor: Tensor) -> Tensor:
        """The input of the graph for a tensor of the caller."""
        try:
            index = self._op.firstInIndex(parent_tensor._pb_tensor)
        except IndexError as problem:
            raise ValueError(f"{parent_tensor.name} is not passed to the called graph.") from problem
        graph = self._op.getCalledGraphs()[0]
        return Tensor._from_pb_tensor(graph.getInputTensor(self.parent_to_graph_input_index(index)))

    def parent_input(self, idx: int) -> Tensor:
        """The op's input at an index."""
        return Tensor._from_pb_tensor(self._op.inTensor(idx))

    def parent_output(self, idx: int) -> Tensor:
        """The op's output at an index."""
        return Tensor._from_pb_tensor(self._op.outTensor(idx))

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs from the caller."""
        return tuple(Tensor._from_pb_tensor(each) for each in self._op.getInputTensors())

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The outputs for the caller."""
        return tuple(Tensor._from_pb_tensor(each) for each in self._op.getOutputTensors())

    def set_parent_input_modified(self, parent_tensor: Tensor, infer_modified_regions: bool = False) -> None:
        """Have the caller see how the graph changes a tensor that it is given."""
        index = self._op.inIndex(parent_tensor._pb_tensor)
        self._op.modified[index] = True


def call(
    graph: Graph,
    *inputs: TensorLike | Iterable[TensorLike],
    inputs_dict: Mapping[Tensor, TensorLike] | None = None,
) -> tuple[Tensor, ...]:
    """Call a graph: inputs in order, or by tensors of the graph."""
    return call_with_info(graph, *inputs, inputs_dict=inputs_dict).outputs


def call_with_info(
    graph: Graph,
    *inputs: TensorLike | Iterable[TensorLike],
    inputs_dict: Mapping[Tensor, TensorLike] | None = None,
    check_inputs: bool = True,
) -> CallSiteInfo:
    """Call a graph, and return the `CallSiteInfo`. Without `check_inputs`, inputs may be missing for now."""
    context = get_current_context()
    parent = context.graph
    given = prepared_inputs(parent, graph, "called", inputs, inputs_dict, check_inputs)
    op = parent._pb_graph.add_op(
        "Call",
        {index: tensor._pb_tensor for index, tensor in given.items()},
        {index: _scoped(each.name) for index, each in enumerate(graph.outputs)},
        {"graphs": [graph._pb_graph]},
        context._get_op_settings(f"{parent.name}--call--{graph.name}"),
    )
    info = CallSiteInfo(op)
    for tensor in graph._by_ref_inputs:
        index = graph._pb_graph.getInputIndex(tensor.id)
        if index in given:
            op.modified[index] = True
    context._op_created(op)
    return info


def _scoped(name: str) -> str:
    return "/".join((*get_current_context().name_scopes, name))


def prepared_inputs(
    parent: Graph,
    graph: Graph,
    what: str,
    inputs: Iterable[Any] | None,
    inputs_dict: Mapping[Tensor, Any] | None,
    check_inputs: bool,
) -> dict[int, Tensor]:
    """The inputs of a call by index, numbers among them as constants."""
    flat = _flat(inputs)
    own = graph.inputs
    if len(flat) > len(own):
        raise ValueError(f"{len(flat)} inputs are given to the {what} graph {graph}, which has {len(own)}.")
    found = {index: _as_tensor(parent, own[index], value, what) for index, value in enumerate(flat)}
    for tensor, value in (inputs_dict or {}).items():
        if not isinstance(tensor, Tensor) or tensor not in graph:
            raise ValueError(f"The graph input tensor {tensor} is not in the {what} graph ({graph}).")
        index = graph._pb_graph.getInputIndex(tensor.id)
        if index < len(flat):
            raise ValueError(f"{tensor} of the {what} graph is given twice: in order, and in inputs_dict.")
        found[index] = _as_tensor(parent, tensor, value, what)
    missing = [index for index in range(len(own)) if index not in found]
    if check_inputs and missing:
        _refuse_missing(graph, what, found, missing)
    return dict(sorted(found.items()))


def _flat(inputs: Iterable[Any] | None) -> list[Any]:
    flat: list[Any] = []
    for each in inputs or ():
        if isinstance(each, Iterable) and not isinstance(each, str | Tensor):
            flat.extend(each)
        else:
            flat.append(each)
    return flat


def _as_tensor(parent: Graph, tensor: Tensor, value: Any, what: str) -> Tensor:
    if isinstance(value, Tensor):
        try:
            check_in_graph(parent, parent_tensor=value)
        except ValueError as problem:
            raise ValueError(f"The input {value} is not in the graph {parent}, which calls.") from problem
        return value
    try:
        return tensor._ensure_tensor(value)
    except (ValueError, TypeError) as problem:
        raise TypeError(
            f"{value!r} ({type(value).__name__}) for {tensor} of the {what} graph cannot be converted to a tensor."
        ) from problem


def _refuse_missing(graph: Graph, what: str, found: Mapping[int, Tensor], missing: list[int]) -> None:
    own = graph.inputs
    rows: list[tuple[Any, ...]] = [("Index", "Graph Tensor"), *((index, own[index].id) for index in missing)]
    there: list[tuple[Any, ...]] = [("Index", "Graph Tensor", "Parent Graph Tensor")]
    there += [(index, own[index].id, tensor.id) for index, tensor in sorted(found.items())]
    raise ValueError(
        f"Not enough inputs have been provided for the {what} graph ({graph}).\n\nMissing inputs:\n"
        f"{table_to_string(rows)}\n\nConnected inputs:\n{table_to_string(there)}"
    )
