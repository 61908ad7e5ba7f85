"""On which IPU and in which pipeline stage nodes are: as the program says, or in segments that can be laid out anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tremula.frontends.tensorflow.capture.nodes import Node
from tremula.program.op import Phase, Placement
from tremula.program.stages import Mode, StageSummary
from tremula.program.variant import Cut


@dataclass
class Places:
    """IPU and forward stage of each node of a step; `stages` counts them."""

    of: dict[Node, tuple[int, int]]
    stages: int


def own(nodes: Sequence[Node]) -> Places:
    """As the program says: stages of its pipeline, or shards in the order in which the forward pass uses them."""
    numbers: dict[tuple[int | None, int], int] = {}
    of: dict[Node, tuple[int, int]] = {}
    last: tuple[int, int] = (0, 0)
    by_module: dict[str, tuple[int, int]] = {}
    constants: list[Node] = []
    for node in nodes:
        if node.phase is not Phase.FORWARD:
            continue
        if node.ipu is not None or node.stage is not None:
            ipu = node.ipu or 0
            key = (node.stage, ipu)
            number = node.stage if node.stage is not None else numbers.setdefault(key, len(numbers))
            last = (ipu, number)
            by_module[node.module] = last
        elif not node.inputs:
            constants.append(node)
        of[node] = last
    for node in constants:
        # beside what uses them
        users = [user for value in node.outputs for user in value.users if user in of]
        of[node] = of[users[0]] if users else of[node]
    count = 1 + max((stage for _, stage in of.values()), default=0)
    _place_backward(nodes, of, by_module, last)
    return Places(of, count)


def summary(places: Places, *, pipelined: bool) -> StageSummary:
    """The stages of a placement; `pipelined`: they are those of a pipeline."""
    ipus = sorted({ipu for ipu, _ in places.of.values()} or {0})
    return StageSummary(
        mode=Mode.PIPELINED if pipelined else Mode.SHARDED,
        forward_stages=places.stages,
        ipus_used=tuple(ipus),
        blocks=(),
    )


def _place_backward(
    nodes: Sequence[Node],
    of: dict[Node, tuple[int, int]],
    by_module: dict[str, tuple[int, int]],
    last: tuple[int, int],
) -> None:
    stage_of_ipu: dict[int, int] = {}
    for ipu, stage in of.values():
        stage_of_ipu[ipu] = max(stage, stage_of_ipu.get(ipu, 0))
    for node in nodes:
        if node.phase is Phase.BACKWARD:
            if node.stage is not None:
                of[node] = (node.ipu or 0, node.stage)
            elif node.ipu is not None:
                of[node] = (node.ipu, stage_of_ipu.get(node.ipu, 0))
            else:
                of[node] = by_module.get(node.module, last)


@dataclass
class Segments:
    """A program in segments, one for each call of a layer that a stage can begin at.

    Attributes:
        places: of the nodes, all on IPU 0.
        cuts: where a stage can begin.
        own: where the program itself puts each segment.
        summary: the stages of the program's own placement.
    """

    places: Places
    cuts: tuple[Cut, ...]
    own: tuple[Placement, ...]
    summary: StageSummary


def segments(nodes: Sequence[Node], begins_at: Callable[[str], str], *, pipelined: bool) -> Segments:
    """Cut a program at its layers.

    Args:
        nodes: of the program.
        begins_at: the layer at which a stage can begin, for the path of a node; empty: at none.
        pipelined: whether the program's own stages are those of a pipeline.
    """
    placed = own(nodes)
    modules: list[str] = []
    homes: list[tuple[int, int]] = []
    of: dict[Node, tuple[int, int]] = {}
    by_module: dict[str, int] = {}
    for node in nodes:
        if node.phase is not Phase.FORWARD:
            continue
        layer = begins_at(node.module)
        moved = bool(homes) and placed.of[node] != homes[-1]
        if not modules or (layer and layer != modules[-1]) or moved:
            modules.append(layer or (modules[-1] if modules else ""))
            homes.append(placed.of[node])
        of[node] = (0, len(modules) - 1)
        by_module[layer] = len(modules) - 1
    last = max(0, len(modules) - 1)
    for node in nodes:
        if node.phase is Phase.BACKWARD:
            of[node] = (0, by_module.get(begins_at(node.module), last))
    calls = Counter(modules)
    cuts = tuple(
        Cut(number, module)
        for number, module in enumerate(modules)
        if number and module and calls[module] == 1
    )
    where = tuple(Placement(ipu, stage) for ipu, stage in homes) or (Placement(),)
    return Segments(Places(of, len(modules) or 1), cuts, where, summary(placed, pipelined=pipelined))
