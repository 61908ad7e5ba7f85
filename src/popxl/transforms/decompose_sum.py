"""Sums of many tensors as sums of two."""

from __future__ import annotations

from tremula.frontends.popxl.decompose import decompose_sums

from ..graph import Graph


def decompose_sum(graph: Graph) -> Graph:
    """Replace sums of many tensors by additions, which need less memory at a time."""
    decompose_sums(graph._pb_graph)
    return graph
