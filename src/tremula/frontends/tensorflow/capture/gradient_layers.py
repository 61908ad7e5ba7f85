"""The layers of ops of the backward pass that have no scope of a layer: sums of gradients.

Where several layers use one tensor, its gradients are added, outside the scopes of the layers. Such a sum belongs to
the layer that the forward pass calls first among those whose gradients it adds: the backward pass comes to it last.
"""

from __future__ import annotations

from collections.abc import Sequence

from tremula.frontends.tensorflow.capture.nodes import Node
from tremula.program.op import Phase


def assign(nodes: Sequence[Node]) -> None:
    """Set the layers of nodes of the backward pass that have none, in the order in which they run."""
    places: dict[str, int] = {}
    for place, node in enumerate(nodes):
        if node.phase is Phase.FORWARD and node.module:
            places.setdefault(node.module, place)
    for node in nodes:
        if node.phase is Phase.BACKWARD and not node.module:
            makers = [
                value.node
                for value in node.inputs
                if value.node is not None
                and value.node.phase is Phase.BACKWARD
                and value.node.module in places
            ]
            if makers:
                first = min(makers, key=lambda maker: places[maker.module])
                node.module, node.source = first.module, node.source or first.source
