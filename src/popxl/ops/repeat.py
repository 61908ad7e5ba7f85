"""Graphs that are called several times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tremula.frontends.popxl.info import TensorInfo

from ..context import get_current_context
from ..graph import Graph
from ..tensor import Tensor
from .call import CallSiteInfo, prepared_inputs


def repeat(
    graph: Graph,
    repeat_count: int,
    *inputs: Tensor | Iterable[Tensor],
    inputs_dict: Mapping[Tensor, Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """Call a graph several times. Its outputs are its first inputs in the next iteration."""
    return repeat_with_info(graph, repeat_count, *inputs, inputs_dict=inputs_dict).outputs


def repeat_with_info(
    graph: Graph,
    repeat_count: int,
    *inputs: Tensor | Iterable[Tensor],
    inputs_dict: Mapping[Tensor, Tensor] | None = None,
    check_inputs: bool = True,
) -> CallSiteInfo:
    """Repeat a graph, and return the `CallSiteInfo` of the loop and of the graph around `graph` that calls it."""
    if repeat_count < 0:
        raise ValueError(f"The repeat count must not be negative; it is {repeat_count} for {graph}.")
    if len(graph.inputs) < len(graph.outputs):
        raise ValueError(
            f"A graph that is repeated needs an input for each output: {graph} has {len(graph.inputs)} inputs and "
            f"{len(graph.outputs)} outputs."
        )
    context = get_current_context()
    top = context.graph
    given = prepared_inputs(top, graph, "called", inputs, inputs_dict, check_inputs)
    body, inner_call = _body(graph, given, context)
    outputs = {index: each.name for index, each in enumerate(graph.outputs)}
    loop = top._pb_graph.add_op(
        "Loop",
        {index + 2: tensor._pb_tensor for index, tensor in given.items()},
        outputs,
        {"graphs": [body], "trip_count": repeat_count},
        context._get_op_settings(f"{top.name}__loop__{body.identifier}"),
    )
    wrapper = Graph._from_pb(body)
    for tensor in graph._by_ref_inputs:
        index = graph._pb_graph.getInputIndex(tensor.id)
        if index in given:
            inner_call.modified[index] = True
            loop.modified[index + 2] = True
            wrapper._by_ref_inputs.add(Tensor._from_pb_tensor(body.inputs[index + 2]))
    context._op_created(loop)
    return CallSiteInfo(loop)


def _body(graph: Graph, given: Mapping[int, Tensor], context: Any) -> tuple[Any, Any]:
    """A graph that takes the number of the turn and whether to go on, and calls `graph`."""
    ir = graph.ir._pb_ir
    body = ir.createGraph(ir.createUniqueSubgraphId(f"{graph.id}__loop_wrapper"))
    body.add_input(body.scoped("Iterator___"), TensorInfo("int32", ()))
    condition = body.add_input(body.scoped("LoopCond___"), TensorInfo("bool", ()))
    inner = {
        index: body.add_input(body.unique(tensor.name), tensor._pb_tensor.type)
        for index, tensor in given.items()
    }
    call = body.add_op(
        "Call",
        inner,
        {index: each.name for index, each in enumerate(graph.outputs)},
        {"graphs": [graph._pb_graph]},
        context._get_op_settings(f"{body.identifier}__call__{graph.id}"),
    )
    body.outputs.append(condition)
    body.outputs += call.output_list
    return body, call
