"""Marks for overlapped host transfers, and whether they are where the device allows them."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import fx

from tremula.frontends.torch.errors import compile_error
from tremula.frontends.torch.graphs.program import RECORD, Record

INPUT_KIND = "overlap_input"
OUTPUT_KIND = "overlap_output"
NO_OVERLAP = "no_overlap"


def marked(node: fx.Node, kind: str) -> bool:
    """Whether `node` is a mark of `kind`: an alias made for it, not just an op recorded along with one."""
    if node.target is not torch.ops.aten.alias.default:
        return False
    record = node.meta.get(RECORD)
    return isinstance(record, Record) and record.annotation.attributes.get("kind") == kind


def _mode(node: fx.Node) -> str:
    return str(node.meta[RECORD].annotation.attributes["mode"])


def overlap_modes(
    graph: fx.Graph, inputs: Iterable[str], outputs: int
) -> tuple[dict[str, str], dict[int, str]]:
    """The overlap asked for: by placeholder name of the `inputs` and by position of the first `outputs` outputs."""
    nodes = {node.name: node for node in graph.nodes}
    found_inputs: dict[str, str] = {}
    valid: set[fx.Node] = set()
    for position, name in enumerate(inputs):
        users = list(nodes[name].users) if name in nodes else []
        marks = [user for user in users if marked(user, INPUT_KIND)]
        if not marks:
            continue
        if len(users) > 1:
            raise compile_error(
                f"input {position} is marked by poptorch.set_overlap_for_input and also used without the mark: use "
                "the tensor that set_overlap_for_input returns everywhere."
            )
        valid.add(marks[0])
        found_inputs[name] = _mode(marks[0])
    found_outputs = _outputs(graph, outputs, valid)
    for node in graph.nodes:
        for kind, what in ((INPUT_KIND, "input"), (OUTPUT_KIND, "output")):
            if marked(node, kind) and node not in valid:
                raise compile_error(
                    f"poptorch.set_overlap_for_{what} applied on a node which is not a tensor {what} to "
                    "the model."
                )
    return found_inputs, found_outputs


def _source(node: object) -> object:
    """What the user returned, before the capture cut it from autograd, copied it or narrowed its type."""
    own = (torch.ops.aten.detach.default, torch.ops.aten.clone.default, torch.ops.aten._to_copy.default)
    for target in own:
        if isinstance(node, fx.Node) and node.target is target:
            node = node.args[0]
    return node


def _outputs(graph: fx.Graph, count: int, valid: set[fx.Node]) -> dict[int, str]:
    final = next(node for node in reversed(graph.nodes) if node.op == "output")
    returns = final.args[0] if isinstance(final.args[0], list | tuple) else (final.args[0],)
    listed = [_source(node) for node in returns]
    returned = [node for node in listed[:count] if isinstance(node, fx.Node)]
    found: dict[int, str] = {}
    for position, node in enumerate(listed[:count]):
        if not isinstance(node, fx.Node) or not marked(node, OUTPUT_KIND):
            continue
        same = {node, node.args[0]}
        same |= {user for user in node.all_input_nodes[0].users if marked(user, OUTPUT_KIND)}
        if sum(other in same for other in returned) > 1:
            raise compile_error(
                f"output {position}, marked by poptorch.set_overlap_for_output, is returned more than once (also "
                "within lists and tuples): return it once, and a clone() elsewhere."
            )
        valid.add(node)
        found[position] = _mode(node)
    return found


def check_settings(modes: Iterable[str], *, pipelined: bool, io_tiles: int, all_or_sum: bool) -> None:
    """Refuse overlap under settings that the device cannot combine with it."""
    if all(mode == NO_OVERLAP for mode in modes):
        return
    if pipelined:
        raise compile_error(
            "overlapped transfers are not supported with poptorch.PipelinedExecution (the default): set "
            "poptorch.ShardedExecution as the execution strategy."
        )
    if io_tiles == 0:
        raise compile_error(
            "No IO tiles allocated for overlapped transfers: set some aside with "
            "poptorch.Options().TensorLocations.numIOTiles(32)."
        )
    if not all_or_sum:
        raise compile_error(
            "Unsupported output mode for overlapped IO: only poptorch.OutputMode.All and OutputMode.Sum "
            "return the result of every step."
        )
