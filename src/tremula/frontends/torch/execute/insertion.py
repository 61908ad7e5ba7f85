"""Operators added to a graph: the nodes carry the record of the op that they stand for, and fake results."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import fx


class InGraph:
    """Adds operators where the graph inserts at the moment. `fake` says what an operator gives, where torch cannot."""

    def __init__(self, graph: fx.Graph, node: fx.Node, fake: Callable[..., Any] | None = None) -> None:
        self._graph = graph
        self._meta = node.meta
        self._fake = fake or _called

    def call(self, op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> fx.Node:
        """The node of an operator's result."""
        node = self._graph.call_function(op, args, kwargs)
        fakes, options = fx.node.map_arg((args, kwargs), lambda operand: operand.meta["val"])
        with torch.no_grad():
            node.meta = {**self._meta, "val": self._fake(op, fakes, options)}
        return node

    def item(self, values: fx.Node, index: int) -> fx.Node:
        """The node of one of several results."""
        node = self._graph.call_function(operator.getitem, (values, index))
        node.meta = {**self._meta, "val": values.meta["val"][index]}
        return node

    def like(self, function: Any, value: fx.Node, *args: Any) -> fx.Node:
        """The node of a Python function whose result is a tensor like `value`."""
        node = self._graph.call_function(function, (value, *args))
        node.meta = {**self._meta, "val": value.meta["val"]}
        return node


def _called(op: torch._ops.OpOverload, args: Any, kwargs: Any) -> Any:
    return op(*args, **kwargs)
