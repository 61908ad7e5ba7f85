"""Updates of many tensors, recorded once per signature and then copied, in a tenth of the time of recording."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import fx

from tremula.frontends.torch.capture.record import Recorder, node_of, set_node
from tremula.frontends.torch.graphs.program import RECORD, Annotation


@dataclass(frozen=True)
class _Recorded:
    """What the first call with a signature was given, what it recorded, and what its tensors became."""

    given: tuple[fx.Node, ...]
    made: tuple[fx.Node, ...]
    after: tuple[fx.Node, ...]


class Repetition:
    """Records calls for one recording; `annotations` says where each parameter belongs."""

    def __init__(self, recorder: Recorder, annotations: Mapping[str, Annotation]) -> None:
        self._recorder = recorder
        self._annotations = annotations
        self._known: dict[Hashable, _Recorded] = {}

    def __call__(
        self, signature: Hashable, parameter: str, tensors: Sequence[torch.Tensor], body: Callable[[], None]
    ) -> None:
        """`body()`, which changes only `tensors`, and the same way for an equal `signature` and tensors alike."""
        self._recorder.annotation = self._annotations.get(parameter, Annotation())
        try:
            self._repeat(signature, tensors, body)
        finally:
            self._recorder.annotation = Annotation()

    def _repeat(self, signature: Hashable, tensors: Sequence[torch.Tensor], body: Callable[[], None]) -> None:
        nodes = [node for tensor in tensors if (node := node_of(tensor)) is not None]
        if len(nodes) < len(tensors) or not nodes:
            body()
            return
        sharing = tuple(nodes.index(node) for node in nodes)
        key = (signature, sharing, tuple((t.shape, t.dtype, t.stride()) for t in tensors))
        known = self._known.get(key)
        if known is None:
            last = next(reversed(nodes[0].graph.nodes))
            body()
            after = [node_of(tensor) for tensor in tensors]
            self._known[key] = _Recorded(tuple(nodes), _since(last), tuple(n for n in after if n is not None))
            return
        copies = self._copy(known, nodes)
        for tensor, before, after_node in zip(tensors, known.given, known.after, strict=True):
            if after_node is not before:
                set_node(tensor, copies[after_node])

    def _copy(self, known: _Recorded, nodes: Sequence[fx.Node]) -> dict[fx.Node, fx.Node]:
        graph = nodes[0].graph
        copies = dict(zip(known.given, nodes, strict=True))
        for node in known.made:
            copy = graph.node_copy(node, lambda other: copies.get(other, other))
            if RECORD in copy.meta:
                copy.meta[RECORD] = self._recorder.record()
            copies[node] = copy
        return copies


def _since(last: fx.Node) -> tuple[fx.Node, ...]:
    """The nodes recorded after `last`."""
    made = []
    node = last.next
    while node.op != "root":
        made.append(node)
        node = node.next
    return tuple(made)
