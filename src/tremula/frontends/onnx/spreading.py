"""Spreads the nodes of a graph over IPUs by their memory, for `VirtualGraphMode.Auto`.

A node costs the bytes of its weights and constants, and in training those of its results, which the backward pass
reads. The order of the nodes is cut where the costs so far are nearest to the share of the IPUs so far. A cut must not
part a node from the residual connection around it: beside the last node, nothing of its branch may be read beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from tremula.errors import Error
from tremula.frontends.onnx.interpreter import reads
from tremula.frontends.onnx.model import Node, OnnxModel
from tremula.frontends.onnx.placing import IPU
from tremula.frontends.onnx.shapes import TensorType

_WHERE = "[AutoVirtualGraph]"
#: known before the graph runs: they take no part, and their results count as constants of the nodes that read them
_CONSTANT = ("Constant", "Shape", "Size")


@dataclass(frozen=True)
class Memory:
    """What of a graph takes memory.

    Attributes:
        types: of all tensors.
        training: whether results are kept for the backward pass.
        accumulates: whether each weight has an accumulator.
    """

    types: Mapping[str, TensorType]
    training: bool = False
    accumulates: bool = False

    def of(self, model: OnnxModel, node: Node, constants: frozenset[str]) -> int:
        """Bytes that belong to `node`."""
        held = {name for name in reads(node) if name in model.graph.initializers or name in constants}
        total = sum(map(self._bytes, held)) * (2 if self.accumulates else 1)
        return total + (sum(map(self._bytes, filter(None, node.outputs))) if self.training else 0)

    def _bytes(self, name: str) -> int:
        kind = self.types.get(name)
        return 0 if kind is None else math.prod(kind.shape) * kind.dtype.itemsize


def spread(model: OnnxModel, memory: Memory, ipus: int, ratios: Sequence[float] = ()) -> OnnxModel:
    """The model with the number of an IPU on every node; `ratios` are the IPUs' shares of the costs, equal if empty.

    Raises:
        Error: the ratios do not fit, or there are not enough places to cut the graph.
    """
    _check(ratios, ipus)
    nodes = [node for node in model.graph.nodes if node.type not in _CONSTANT]
    constants = frozenset(
        name for node in model.graph.nodes if node.type in _CONSTANT for name in node.outputs
    )
    costs = [memory.of(model, node, constants) for node in nodes]
    cuts = _cuts(nodes, costs, [*ratios] or [1 / ipus] * ipus)
    numbers = {node: sum(position > cut for cut in cuts) for position, node in enumerate(nodes)}
    placed = tuple(
        replace(node, attributes={**node.attributes, IPU: numbers[node]}) if node in numbers else node
        for node in model.graph.nodes
    )
    return replace(model, graph=replace(model.graph, nodes=placed))


def _check(ratios: Sequence[float], ipus: int) -> None:
    if not ratios:
        return
    if len(ratios) != ipus:
        raise Error(
            f"virtualGraphSplitRatios has {len(ratios)} numbers, and the device has {ipus} IPUs: give one for each."
        )
    if not all(0 < ratio < 1 for ratio in ratios) or not math.isclose(sum(ratios), 1, abs_tol=1e-5):
        raise Error(
            f"virtualGraphSplitRatios is {[*ratios]}: each number must be above 0 and below 1, and their sum 1."
        )


def _cuts(nodes: Sequence[Node], costs: Sequence[int], ratios: Sequence[float]) -> list[int]:
    """The positions of the last nodes of all IPUs but the last one."""
    so_far = list(accumulate(costs))
    total = so_far[-1] if so_far else 0
    left = [position for position in _places_to_cut(nodes) if position < len(nodes) - 1]
    cuts: list[int] = []
    for index in range(1, len(ratios)):
        if not left:
            raise Error(
                f"{_WHERE} Couldn't find enough splits for {len(ratios)} IPUs: the graph can be cut in "
                f"{len(cuts)} places. Use fewer IPUs, or place ops with builder.virtualGraph and "
                "VirtualGraphMode.Manual."
            )
        wanted = sum(ratios[:index]) * total
        cuts.append(min(left, key=lambda position: abs(so_far[position] - wanted)))
        left = [position for position in left if position > cuts[-1]]
    return cuts


def _places_to_cut(nodes: Sequence[Node]) -> list[int]:
    """The positions of nodes after which nothing else of their branch is read by later nodes of it."""
    made: dict[str, int] = {}
    branches: list[int] = []
    last_read: list[int] = []
    for position, node in enumerate(nodes):
        behind = {made[name] for name in reads(node) if name in made}
        around = {branches[maker] for maker in behind}
        branches.append(around.pop() if len(around) == 1 else position)
        last_read.append(position)
        for maker in behind:
            if branches[maker] == branches[position]:
                last_read[maker] = position
        made.update((name, position) for name in node.outputs if name)
    found: list[int] = []
    pending: dict[int, int] = {}
    for position, branch in enumerate(branches):
        if pending.get(branch, -1) <= position:
            found.append(position)
        pending[branch] = max(pending.get(branch, -1), last_read[position])
    return found
