"""Collectives of replicas and of the IPUs of a replica, and tiles for input and output, with the names of C++.

`docs/poplar-libs.md` lists the functions. Every collective of replicas takes a tensor or a list of tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from poplar import Graph, Tensor
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.graph.concat import concat
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.gcl import calls
from tremula.frontends.poplar.libs.gcl.groups import CollectiveOperator, CommGroup, CommGroupType


def addCodelets(graph: Graph) -> None:
    """Add the library's codelets to a graph. This does nothing, because functions need no codelets here."""


def _data(taken: Arguments, what: str) -> tuple[bool, list[View]]:
    """A tensor or several."""
    if taken.next_is(View):
        return False, [taken.view(what)]
    return True, list(taken.sequence(what))


def _operator(taken: Arguments) -> CollectiveOperator:
    return taken.take("op", CollectiveOperator)


def _group(taken: Arguments) -> CommGroup:
    """The group, if there is one; a list or None stands for one too."""
    if taken.next_is(CommGroup):
        return taken.take("group", CommGroup)
    if taken.next_is(list, tuple):
        return CommGroup(*taken.sequence("group"))
    if taken.next_is(type(None)):
        taken.any("group")
    return CommGroup()


def _collective(
    kind: str,
    function: str,
    graph: Graph,
    arguments: Any,
    debug: Any,
    options: Any,
    *,
    operator: bool = True,
    target: str = "new",
) -> Any:
    taken = Arguments(f"gcl::{function}", arguments, debug, options)
    several, data = _data(taken, "data")
    into = list(data) if target == "in place" else None
    if target == "given":
        into = _data(taken, "destination")[1]
    op = _operator(taken) if operator else None
    program = taken.program()
    group = _group(taken)
    root = taken.integer("rootReplica") if kind == "broadcast" and taken.next_is_number() else 0
    made = calls.across(
        graph, kind, f"gcl::{function}", data, op, program, group, *taken.end(), into=into, root=root
    )
    if target != "new":
        return None
    return made if several else made[0]


def allReduceCrossReplica(graph: Graph, *arguments: Any, debug: Any = "", options: Any = None) -> Any:
    """`allReduceCrossReplica(graph, data, op, prog[, group])`: reduce a tensor. All replicas of a group get the
    result."""
    return _collective("all_reduce", "allReduceCrossReplica", graph, arguments, debug, options)


def allReduceInPlaceCrossReplica(graph: Graph, *arguments: Any, debug: Any = "", options: Any = None) -> None:
    """Reduce over replicas into the operand."""
    _collective(
        "all_reduce", "allReduceInPlaceCrossReplica", graph, arguments, debug, options, target="in place"
    )


def allReduceToDestinationCrossReplica(
    graph: Graph, *arguments: Any, debug: Any = "", options: Any = None
) -> None:
    """`allReduceToDestinationCrossReplica(graph, data, destination, op, prog[, group])`: all-reduce into a tensor."""
    _collective(
        "all_reduce", "allReduceToDestinationCrossReplica", graph, arguments, debug, options, target="given"
    )


def reduceScatterCrossReplica(graph: Graph, *arguments: Any, debug: Any = "", options: Any = None) -> Any:
    """`reduceScatterCrossReplica(graph, data, op, prog[, group])`: each replica gets its part of the reduced vector,
    padded with zeros; with LOCAL, of its own vector."""
    return _collective("reduce_scatter", "reduceScatterCrossReplica", graph, arguments, debug, options)


def reduceScatterToDestinationCrossReplica(
    graph: Graph, *arguments: Any, debug: Any = "", options: Any = None
) -> None:
    """`reduceScatterToDestinationCrossReplica(graph, data, destination, op, prog[, group])`: reduce-scatter into a
    tensor."""
    _collective(
        "reduce_scatter", "reduceScatterToDestinationCrossReplica", graph, arguments, debug, options, target="given"
    )  # fmt: skip


def allGatherCrossReplica(graph: Graph, *arguments: Any, debug: Any = "", options: Any = None) -> Any:
    """`allGatherCrossReplica(graph, data, prog[, group])`: the tensors of all replicas of a group, in a new first
    dimension."""
    return _collective(
        "all_gather", "allGatherCrossReplica", graph, arguments, debug, options, operator=False
    )


def allGatherToDestinationCrossReplica(
    graph: Graph, *arguments: Any, debug: Any = "", options: Any = None
) -> None:
    """`allGatherToDestinationCrossReplica(graph, data, destination, prog[, group])`: all-gather into a tensor."""
    _collective(
        "all_gather", "allGatherToDestinationCrossReplica", graph, arguments, debug, options,
        operator=False, target="given",
    )  # fmt: skip


def allToAllCrossReplica(graph: Graph, *arguments: Any, debug: Any = "", options: Any = None) -> Any:
    """`allToAllCrossReplica(graph, data, prog[, group])`: part `i` of each replica goes to replica `i`."""
    return _collective("all_to_all", "allToAllCrossReplica", graph, arguments, debug, options, operator=False)


def broadcastCrossReplica(graph: Graph, *arguments: Any, debug: Any = "", options: Any = None) -> Any:
    """`broadcastCrossReplica(graph, data, prog[, group][, rootReplica])`: the tensor of one replica of each group."""
    return _collective("broadcast", "broadcastCrossReplica", graph, arguments, debug, options, operator=False)


class Chunk:
    """A part of a tensor on one IPU. `index` is its position among the parts."""

    def __init__(self, tensor: Tensor | None = None, index: int = 0, offset: int = 0) -> None:
        self.tensor, self.index, self.offset = tensor, int(index), int(offset)


class Chunks:
    """The parts of a tensor on the IPUs of a replica, and the tensor itself."""

    def __init__(self, chunks: Sequence[Chunk] | int = ()) -> None:
        self._chunks = [Chunk() for _ in range(chunks)] if isinstance(chunks, int) else list(chunks)
        self._original: Tensor | None = None

    def getChunks(self) -> list[Chunk]:
        """The parts."""
        return self._chunks

    def setChunks(self, chunks: Any) -> None:
        """Set the parts."""
        self._chunks = list(chunks)

    def getOriginalInput(self) -> Tensor | None:
        """The tensor that was reduced."""
        return self._original

    def setOriginalInput(self, tensor: Tensor | None) -> None:
        """Set the tensor that was reduced."""
        self._original = tensor


def allReduceWithinReplica(
    graph: Graph,
    toReduce: Tensor,
    op: CollectiveOperator,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """Reduce the parts of a tensor with one part for each IPU. Each IPU gets the result."""
    taken = Arguments("gcl::allReduceWithinReplica", [op, prog], debug, options)
    operator, program = _operator(taken), taken.program()
    return as_tensor(
        calls.within(
            graph, "all_reduce", "gcl::allReduceWithinReplica", toReduce, operator, program, *taken.end()
        )[0]
    )


def reduceScatterWithinReplica(
    graph: Graph,
    toReduce: Tensor,
    op: CollectiveOperator,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> Chunks:
    """Reduce the parts of a tensor with one part for each IPU. Each IPU gets its share of the result."""
    taken = Arguments("gcl::reduceScatterWithinReplica", [op, prog], debug, options)
    operator, program = _operator(taken), taken.program()
    made = calls.within(
        graph, "reduce_scatter", "gcl::reduceScatterWithinReplica", toReduce, operator, program, *taken.end()
    )
    found = Chunks([Chunk(as_tensor(each), number, 0) for number, each in enumerate(made)])
    found.setOriginalInput(toReduce)
    return found


def allGatherWithinReplica(
    graph: Graph, toGather: Tensor | Chunks, prog: Program, debug: Any = "", options: Any = None
) -> Tensor:
    """Concatenate all parts on each IPU. The parts are Chunks, or a tensor with one part for each IPU."""
    taken = Arguments("gcl::allGatherWithinReplica", [prog], debug, options)
    program = taken.program()
    if isinstance(toGather, Chunks):
        ordered = sorted(toGather.getChunks(), key=lambda each: (each.index, each.offset))
        parts = [each.tensor.flatten() for each in ordered if each.tensor is not None]
    else:
        parts = [each.flatten() for each in toGather]
    if not parts:
        raise PoplibsError("gcl::allGatherWithinReplica: there are no parts to gather")
    out = calls.within(
        graph, "all_gather", "gcl::allGatherWithinReplica", parts, None, program, *taken.end()
    )[0]
    original = toGather.getOriginalInput() if isinstance(toGather, Chunks) else None
    if original is not None and original.elements == out.elements:
        return as_tensor(out.reshape(tuple(original.shape)))
    return as_tensor(out)


def concatChunks(chunks: Chunks) -> Tensor:
    """The parts concatenated in the order of their IPUs."""
    ordered = sorted(chunks.getChunks(), key=lambda each: (each.index, each.offset))
    return as_tensor(concat([each.tensor.flatten() for each in ordered if each.tensor is not None]))


def perIPUTiles(
    graph: Graph, offset: int, count: int, sorted: bool = True, tilePairs: bool = True
) -> list[int]:
    """`count` tiles of each IPU, spread over the chip, starting at position `offset` of their order."""
    return calls.tiles_of_ipu(graph, int(offset), int(count), bool(sorted), bool(tilePairs))


def getMinIoTiles(graph: Graph) -> int:
    """The minimum number of tiles for host transfers."""
    return min(calls.MIN_IO_TILES, graph.tile_count)


if not TYPE_CHECKING:  # a misspelt name is a mistake that type checkers find

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(f"gcl has no {name!r}; docs/poplar-libs.md lists what is available")


__all__ = [
    "Chunk", "Chunks", "CollectiveOperator", "CommGroup", "CommGroupType", "addCodelets", "allGatherCrossReplica",
    "allGatherToDestinationCrossReplica", "allGatherWithinReplica", "allReduceCrossReplica",
    "allReduceInPlaceCrossReplica", "allReduceToDestinationCrossReplica", "allReduceWithinReplica",
    "allToAllCrossReplica", "broadcastCrossReplica", "concatChunks", "getMinIoTiles", "perIPUTiles",
    "reduceScatterCrossReplica", "reduceScatterToDestinationCrossReplica", "reduceScatterWithinReplica",
]  # fmt: skip
