"""Collectives as calls, and choices of tiles for input and output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, options, outputs, poputil
from tremula.frontends.poplar.libs.calls import work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.gcl import collectives as collectives  # registers the kernels
from tremula.frontends.poplar.libs.gcl.groups import CollectiveOperator, CommGroup, groups_of
from tremula.frontends.poplar.libs.popops.mapping import check_writeable
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import BOOL
from tremula.program import work

_WITHOUT_EFFECT = dict.fromkeys(
    (
        "useSynclessCollectives", "maxBytesPerTile", "topology", "method", "link", "useReplicatedImplementation",
        "syncful.maxBroadcastSize", "syncful.useOptimisedLayout", "syncful.useForwardingToSupportStride",
        "syncful.useReplicatedImplementation",
    ),
    "results do not depend on how replicas exchange data, and the chip model has one way of it",
)  # fmt: skip

#: the fewest tiles that transfers with the host may be given
MIN_IO_TILES = 32
_COLUMNS = 16


def _shape(kind: str, view: View, ranks: int) -> tuple[int, ...]:
    if kind == "all_gather":
        return (ranks, *view.shape)
    if kind == "reduce_scatter":
        return (-(-view.elements // ranks),)
    return tuple(view.shape)


def across(
    graph: Graph,
    kind: str,
    function: str,
    data: Sequence[View],
    operator: CollectiveOperator | None,
    program: Sequence_,
    group: CommGroup,
    name: str,
    given: Mapping[str, str],
    *,
    into: Sequence[View] | None = None,
    root: int = 0,
) -> list[View]:
    """A collective of all replicas, into new tensors or given ones."""
    options.check(function, given, without_effect=_WITHOUT_EFFECT)
    groups = groups_of(group, graph.contents.replicas)
    ranks = len(groups[0])
    for view in data:
        _check_operand(view, kind, operator, ranks, function)
    if not 0 <= root < ranks:
        raise PoplibsError(f"{function}: there is no replica {root} in groups of {ranks} ({user_line()})")
    made = [_output(graph, kind, view, ranks, name) for view in data] if into is None else list(into)
    for view, out in zip(data, made, strict=True):
        if out.elements != prod(_shape(kind, view, ranks)) or out.type is not view.type:
            raise PoplibsError(
                f"{function}: the result is of shape {list(_shape(kind, view, ranks))} and type {view.type}, the "
                f"tensor for it of shape {list(out.shape)} and type {out.type} ({user_line()})"
            )
        check_writeable(out, "the tensor for the result of a collective")
    attributes = {
        "kind": kind,
        "operator": "ADD" if operator is None else operator.name,
        "groups": groups,
        "root": root,
    }
    works = [each for view in data for each in _works(kind, operator, view, ranks)]
    calls.add_call(program, "gcl.collective", list(data), made, attributes, works, name or function)
    return made


def _output(graph: Graph, kind: str, view: View, ranks: int, name: str) -> View:
    shape = _shape(kind, view, ranks)
    if shape == tuple(view.shape) and not view.has_aliases():
        return outputs.like(graph, view, view.type, name)
    return outputs.linear(graph, view.type, shape, name)


def _check_operand(
    view: View, kind: str, operator: CollectiveOperator | None, ranks: int, function: str
) -> None:
    truths = (CollectiveOperator.LOGICAL_AND, CollectiveOperator.LOGICAL_OR)
    if operator not in (None, CollectiveOperator.LOCAL) and (view.type is BOOL) != (operator in truths):
        raise PoplibsError(
            f"{function}: {operator} does not take elements of type {view.type} ({user_line()})"
        )
    if kind == "all_to_all" and (not view.rank or view.shape[0] != ranks):
        raise PoplibsError(
            f"{function}: the first dimension of a tensor of shape {list(view.shape)} is not that of {ranks} replicas "
            f"({user_line()})"
        )
    if kind == "reduce_scatter" and view.rank != 1:
        raise PoplibsError(
            f"{function}: a vector is needed, not a tensor of shape {list(view.shape)}: flatten it ({user_line()})"
        )


def _works(kind: str, operator: CollectiveOperator | None, view: View, ranks: int) -> list[work.Work]:
    """What the tiles of one replica do; what goes over links is costed by itself (`links`)."""
    if ranks == 1 or not view.elements or operator is CollectiveOperator.LOCAL:
        return [work.Copy(view.elements, work_type(view.type), max(1, view.elements))]
    if kind not in ("all_reduce", "reduce_scatter"):
        return []
    share = -(-view.elements // ranks)
    return [work.Elementwise("add", share * (ranks - 1), work_type(view.type), 2, in_place=True)]


def within(
    graph: Graph,
    kind: str,
    function: str,
    data: View | Sequence[View],
    operator: CollectiveOperator | None,
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
) -> list[View]:
    """A collective of the IPUs of a replica: part `i` of the result lies on IPU `i`."""
    options.check(function, given, without_effect=_WITHOUT_EFFECT)
    whole = [data] if isinstance(data, View) else list(data)
    ranks = whole[0].shape[0] if isinstance(data, View) else len(whole)
    target = graph.contents.target
    ipus = max(1, target.ipus // graph.contents.replicas)
    if ranks < 1 or ranks > ipus:
        raise PoplibsError(f"{function}: {ranks} parts for {ipus} IPUs ({user_line()})")
    if operator in (CollectiveOperator.LOCAL,):
        raise PoplibsError(f"{function}: LOCAL is for collectives of replicas ({user_line()})")
    dtype = whole[0].type
    if kind == "all_reduce":
        made = [graph.add_variable(dtype, tuple(whole[0].shape), name)]
    elif kind == "all_gather":
        made = [graph.add_variable(dtype, (ranks, sum(each.elements for each in whole)), name)]
    else:
        elements = whole[0].elements // ranks
        size = -(-elements // ranks)
        sizes = [max(0, min(size, elements - rank * size)) for rank in range(ranks)]
        made = [graph.add_variable(dtype, (each,), name) for each in sizes]
    _place(graph, made, ranks, target.tiles_per_ipu)
    attributes = {"kind": kind, "operator": "ADD" if operator is None else operator.name}
    works = [each for view in whole for each in _works(kind, operator, view, max(2, ranks))]
    calls.add_call(program, "gcl.within", whole, made, attributes, works, name or function)
    return made


def _place(graph: Graph, made: Sequence[View], ranks: int, tiles: int) -> None:
    """Put part `rank` of a result on the tiles of that IPU."""
    for rank in range(ranks):
        part = made[rank] if len(made) == ranks and ranks > 1 else made[0].at(rank)
        begin, end = poputil.pieces(
            part.elements, graph.contents.target.vector_width(part.type), 128 // part.type.size, tiles
        )
        where = np.arange(len(begin), dtype=np.int64) + rank * tiles
        poputil.put_pieces(graph, part.flatten(), begin, end, where)


def tiles_of_ipu(graph: Graph, offset: int, count: int, ordered: bool, pairs: bool) -> list[int]:
    """`count` tiles of an IPU, from place `offset` of an order that spreads neighbours over the chip."""
    tiles = min(graph.contents.target.tiles_per_ipu, graph.tile_count)
    if offset < 0 or count < 0 or offset + count > tiles:
        raise PoplibsError(
            f"gcl::perIPUTiles: {count} tiles from place {offset} on are more than {tiles} ({user_line()})"
        )
    step = 2 if pairs else 1
    places = np.arange(-(-tiles // step))
    columns = np.array_split(places, _COLUMNS)
    longest = max(len(each) for each in columns)
    turns = [each[turn] for turn in range(longest) for each in columns if turn < len(each)]
    every = (np.array(turns, dtype=np.int64)[:, np.newaxis] * step + np.arange(step)).reshape(-1)
    chosen = every[every < tiles][offset : offset + count].tolist()
    return sorted(chosen) if ordered else chosen
