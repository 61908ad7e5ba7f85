"""Tensors made like others: same shape, same tiles, in the order in memory that the method asks for."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.graph.view import View

AnyView = TypeVar("AnyView", bound=View)


def clone(view: AnyView, name: str = "", *, keep_order: bool = True, keep_aliases: bool = True) -> AnyView:
    """A tensor of new elements.

    With `keep_order` they lie in memory as those of `view` do, else in the order of the tensor. With `keep_aliases`
    what is one element in `view` is one element of the new tensor.
    """
    graph = view.graph
    old = view.addresses().reshape(-1)
    if keep_aliases:
        distinct, first, places = np.unique(old, return_index=True, return_inverse=True)
        if not keep_order:
            rank = np.argsort(np.argsort(first))
            places, distinct = rank[places], distinct[np.argsort(first)]
    else:
        order = np.argsort(old, kind="stable") if keep_order else np.arange(len(old))
        distinct, places = old[order], np.argsort(order)
    made = graph.add_variable(view.type, (len(distinct),), name)
    source = view.__class__(graph, view.type, distinct.shape, 0, (), distinct)
    begin, end, tile = mapping.intervals_of(graph.memory, source)
    kept = tile != mapping.UNMAPPED
    size = made.element_bytes
    mapping.assign_runs(
        graph.memory,
        made.offset + begin[kept] * size,
        (end - begin)[kept],
        np.full(int(kept.sum()), size, dtype=np.int64),
        tile[kept],
    )
    if np.array_equal(places, np.arange(len(places))):
        return made.reshape(view.shape)  # type: ignore[return-value]
    addresses = (made.offset + places * size).reshape(view.shape)
    return view.__class__(graph, view.type, view.shape, 0, (), addresses)
