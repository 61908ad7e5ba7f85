"""Where the nodes of a graph run, by their `__...` attributes, and what the chip model is told of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tremula.errors import Error
from tremula.frontends.onnx.model import Node
from tremula.frontends.torch.capture.context import Capture
from tremula.frontends.torch.capture.placement import SingleIpu
from tremula.program.op import RUNS_AGAIN, Placement

#: the attributes of nodes that say so
IPU, STAGE = "__ipu_number", "__pipeline_stage"
RECOMPUTE = "__recompute_output_in_backward_pass"
_MEMORY = "__available_memory"
#: how a product is cut into parts: the dimension, the number of parts, and whether they are added in single precision
SERIAL = tuple(f"__serialize_matmul_{word}" for word in ("mode", "factor", "precision"))
#: what the recomputation attribute says; its other values say nothing
_KEPT, _AGAIN = 1, 2


@dataclass(frozen=True)
class Placed:
    """The places of the nodes of a graph.

    Attributes:
        execution: single, sharded or pipelined.
        ipus: of a replica; gaps in the numbering are reserved too.
        places: of nodes; one that is not there runs where the node before it runs.
        refusal: why the chip model cannot follow; empty if it can.
    """

    execution: str = "single"
    ipus: int = 1
    places: Mapping[Node, Placement] = field(default_factory=dict)
    refusal: str = ""

    def check(self) -> None:
        """Raise Error if the chip model cannot follow."""
        if self.refusal:
            raise Error(self.refusal)


def placed(nodes: Iterable[Node], *, manual: bool, pipelined: bool, phased: bool = False) -> Placed:
    """Where `nodes` run. Unless their places are `manual` all run on IPU 0; stages count in a pipeline only, and are
    the numbers of the IPUs where nodes do not name them.
    """
    if phased:
        return Placed(
            refusal="the graph runs in execution phases (VirtualGraphMode.ExecutionPhases), which the chip model does "
            "not follow for PopART sessions. Place it with virtualGraph and pipelineStage to have figures."
        )
    if not manual:
        return Placed()
    # nodes of inner graphs have places of their own; those without run where the node around them runs
    ipus = {node: _number(node, IPU, 0) for node in nodes if IPU in node.attributes}
    stages = pipeline_stages(ipus) if pipelined else ipus
    places = {node: Placement(ipu=ipu, stage=stages[node]) for node, ipu in ipus.items() if node in stages}
    used = {place.ipu for place in places.values()}
    if len(used) <= 1:
        return Placed(ipus=max(used, default=0) + 1, places=places)
    return Placed("pipelined" if pipelined else "sharded", max(used) + 1, places)


def pipeline_stages(nodes: Iterable[Node]) -> dict[Node, int]:
    """The stage of each node that names one; if none does, stages follow from IPUs. Stages that follow each other on
    one IPU are merged into the first of them.
    """
    nodes = list(nodes)
    named = STAGE if any(STAGE in node.attributes for node in nodes) else IPU
    stages = {node: _number(node, named, 0) for node in nodes if named in node.attributes}
    ipus = {stage: _number(node, IPU, stage) for node, stage in stages.items()}
    merged, before, shift = {}, None, 0
    for stage, ipu in sorted(ipus.items()):
        shift += ipu == before
        merged[stage], before = stage - shift, ipu
    return {node: merged[stage] for node, stage in stages.items()}


class NodePlaces(SingleIpu):
    """The placement rule of a capture whose nodes name their places."""

    def begin_node(self, place: Placement) -> None:
        """What is recorded from now on belongs to a node that runs at `place`."""
        # snapshots of annotations are compared by the identity of their place
        if place != self._placement:
            self._placement = place


def is_kept(node: Node) -> bool:
    """Whether the user marked the node's results as kept for the backward pass."""
    return _number(node, RECOMPUTE, 0) == _KEPT


def runs_again(node: Node) -> bool:
    """Whether the user marked the node as one to run again for the backward pass."""
    return _number(node, RECOMPUTE, 0) == _AGAIN


def begin(capture: Capture, node: Node, places: Mapping[Node, Placement]) -> None:
    """What is recorded from now on runs where `node` runs."""
    place = places.get(node)
    if place is not None and isinstance(capture.rule, NodePlaces):
        capture.rule.begin_node(place)


@contextlib.contextmanager
def node_marks(capture: Capture, node: Node, places: Mapping[Node, Placement]) -> Iterator[None]:
    """What is recorded inside runs where `node` runs, and as the user marked the node: again for the backward pass, or
    in parts.
    """
    begin(capture, node, places)
    marks: dict[str, object] = {RUNS_AGAIN: True} if runs_again(node) else {}
    mode = node.attributes.get(SERIAL[0])
    if isinstance(mode, str):
        marks["matmul_serialization"] = {
            "mode": mode,
            "factor": _number(node, SERIAL[1], 0),
            "keep_precision": bool(_number(node, SERIAL[2], 0)),
        }
    if not marks:
        yield
        return
    with capture.attributes(**marks):
        yield


def available_memory(node: Node) -> float | None:
    """The share of the memory of tiles that the node's temporary data may take, if the user set it."""
    value = node.attributes.get(_MEMORY)
    return float(value) if isinstance(value, int | float) else None


def _number(node: Node, name: str, default: int) -> int:
    value = node.attributes.get(name, default)
    return value if isinstance(value, int) else default
