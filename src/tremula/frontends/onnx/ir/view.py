"""The listing of a whole program: forward, backward, update, with copies between IPUs and host transfers.

It follows what the graph compiler would list, from the graph, the placement and the optimizer. Its rewrites of ops
(outlining, in-place forms, serialisation) are not shown: they do not take place here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tremula.frontends.onnx.ir.gradients import backward
from tremula.frontends.onnx.ir.listing import Listing
from tremula.frontends.onnx.ir.rewrites import Enabled, listed_nodes
from tremula.frontends.onnx.ir.updates import updates
from tremula.frontends.onnx.model import Graph, Node
from tremula.frontends.onnx.ops.table import Rule
from tremula.frontends.onnx.placing import IPU, STAGE, is_kept, runs_again
from tremula.frontends.onnx.run.program import GraphProgram
from tremula.frontends.onnx.shapes import TensorType
from tremula.frontends.torch.optimize.spec import OptimizerSpec

MAIN = "maingraph"


@dataclass(frozen=True)
class Layout:
    """What options say about how a program is laid out."""

    accumulates: bool = False
    replicas: int = 1
    #: ops carry the IPU that they are on
    placed: bool = False
    pipelined: bool = False
    #: transfers with the host are ops
    host_copies: bool = False
    #: every op but those of the last stage is computed again
    recomputes: bool = False


def view(program: GraphProgram, spec: OptimizerSpec | None, layout: Layout, enabled: Enabled) -> str:
    """The program as JSON; `enabled` tells which rewrites are on."""
    listing = Listing(program.types)
    kept = listed_nodes(program, enabled)
    nodes = list(kept)
    if layout.host_copies:
        for name in program.inputs:
            listing.add("Init", [], [f"{name}/host"], like=name)
            listing.add("HostLoad", [f"{name}/host"], [name], like=name)
    attributes = {node: _attributes(node, layout) for node in nodes}
    constants = _constants(program, nodes)
    moved: set[tuple[str, str]] = set()
    where = {name: attributes[node].get(IPU, "0") for node in nodes for name in node.outputs}
    for node in nodes:
        inputs = [
            name
            for place, name in enumerate(node.inputs)
            if not _folded(program, kept[node], place, constants)
        ]
        if layout.placed:
            inputs = _copied(listing, node, inputs, where, attributes[node], moved)
        listing.add(node.type, inputs, [name for name in node.outputs if name], attributes[node])
    loss = program.request.loss
    if loss is not None and spec is not None:
        if layout.pipelined:
            _stash(listing, nodes, attributes, set(program.weights))
        wanted = [*program.trained, *program.gradients]
        backward(listing, nodes, loss, wanted, program.differentiable, attributes)
        updates(listing, spec, accumulates=layout.accumulates, replicas=layout.replicas)
    if layout.host_copies:
        for name in program.request.anchors:
            listing.add("HostStore", [name], [])
    for node in nodes:
        for graph in node.graphs:
            _inner(listing, graph, layout)
    name = program.model.graph.name
    return listing.json(MAIN if not name or name.startswith("BuilderGraph_") else name)


def _inner(listing: Listing, graph: Graph, layout: Layout) -> None:
    """The graph inside of an op, under its own name, and those inside of it."""
    if graph.name in listing.inner:
        return
    own = listing.inner[graph.name] = Listing({**listing.types, **_known(graph)})
    for node in graph.nodes:
        own.add(
            node.type, [*filter(None, node.inputs)], [*filter(None, node.outputs)], _attributes(node, layout)
        )
        for inside in node.graphs:
            _inner(listing, inside, layout)


def _known(graph: Graph) -> dict[str, TensorType]:
    """The types of its inputs, as far as the file has them."""
    found = {}
    for each in graph.inputs:
        shape = [extent for extent in each.shape or () if isinstance(extent, int)]
        if each.type is not None and each.shape is not None and len(shape) == len(each.shape):
            found[each.name] = TensorType(tuple(shape), each.type.torch)
    return found


def _attributes(node: Node, layout: Layout) -> dict[str, str]:
    found = {
        name: _text(value)
        for name, value in node.attributes.items()
        if isinstance(value, int | float | str | tuple)
    }
    stage = found.get(STAGE, found.get(IPU, "0"))
    if not layout.placed:
        found.pop(IPU, None)
    if layout.pipelined:
        found[STAGE] = stage
    else:
        found.setdefault(STAGE, "")
    again = runs_again(node) or (layout.recomputes and not is_kept(node))
    return {**found, "scope": "/".join(node.scope), "recompute": "YES" if again else "NO"}


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{' '.join(map(str, value))}]"
    return str(value)


def _constants(program: GraphProgram, nodes: Sequence[Node]) -> set[str]:
    """Tensors that are known before the graph runs, besides weights."""
    made = {name for node in nodes for name in node.outputs}
    known = made | set(program.inputs) | set(program.weights)
    return {name for node in nodes for name in node.inputs if name and name not in known}


def _folded(program: GraphProgram, node: Node, place: int, constants: set[str]) -> bool:
    """Whether an input became an attribute: a value that shapes depend on."""
    rule = program.interpreter.rule(node)
    if not node.inputs[place]:
        return True
    return isinstance(rule, Rule) and place in rule.static and node.inputs[place] in constants


def _copied(
    listing: Listing,
    node: Node,
    inputs: Sequence[str],
    where: Mapping[str, str],
    attributes: Mapping[str, str],
    moved: set[tuple[str, str]],
) -> list[str]:
    """Inputs from other IPUs come through copies, one for each tensor and IPU."""
    own = attributes.get(IPU, "0")
    found = []
    for name in inputs:
        if where.get(name, own) == own:
            found.append(name)
            continue
        copy = f"{name}_c{own}"
        if (name, own) not in moved:
            moved.add((name, own))
            listing.add("IpuCopy", [name], [copy], {**attributes, IPU: where[name]}, like=name)
        found.append(copy)
    return found


def _stash(
    listing: Listing, nodes: Sequence[Node], attributes: Mapping[Node, Mapping[str, str]], weights: set[str]
) -> None:
    """What a stage needs for its backward pass is kept: its activations, or if it is computed again its inputs."""
    stages = {name: attributes[node][STAGE] for node in nodes for name in node.outputs}
    last = max((int(stage) for stage in stages.values() if stage), default=0)
    kept: dict[str, str] = {}
    for node in nodes:
        stage = attributes[node][STAGE]
        if not stage or int(stage) == last:
            continue
        for name in node.inputs:
            known = name in listing.types and name not in weights and name not in kept
            crosses = stages.get(name) != stage
            if known and (crosses or attributes[node]["recompute"] == "NO"):
                kept[name] = stage
    for name, stage in kept.items():
        listing.add("Stash", [name], [f"Stashed___{name}"], {STAGE: stage}, like=name)
    for name, stage in kept.items():
        listing.add(
            "RestoreInplace", [name, f"Stashed___{name}"], [f"Restored___{name}"], {STAGE: stage}, like=name
        )
