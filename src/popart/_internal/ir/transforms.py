"""Transforms of graphs, by PopART's names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tremula.frontends.popxl.autodiff import GradInfo, differentiate
from tremula.frontends.popxl.model import Graph

from ._enums import ExpectedConnectionType
from ._values import BwdGraphInfo, ExpectedConnection


def _connection(identifier: str, is_gradient: bool) -> ExpectedConnection:
    kind = ExpectedConnectionType.FwdGrad if is_gradient else ExpectedConnectionType.Fwd
    return ExpectedConnection(identifier, kind)


def info_of(found: GradInfo) -> BwdGraphInfo:
    """What the engine says of a backward graph, in the bindings' terms."""
    inputs = [_connection(tensor.identifier, is_gradient) for tensor, is_gradient in found.expected_inputs]
    outputs = [_connection(tensor.identifier, True) for tensor in found.expected_outputs]
    return BwdGraphInfo(found.graph.id, inputs, outputs)


def core_of(ir: Any, forward: Graph, info: BwdGraphInfo) -> GradInfo:
    """The other way round."""
    return GradInfo(
        forward,
        ir.getGraph(info.bwdGraphId),
        [
            (forward.tensors[each.fwdId], each.type is ExpectedConnectionType.FwdGrad)
            for each in info.expectedInputs
        ],
        [forward.tensors[each.fwdId] for each in info.expectedOutputs],
    )


class Autodiff:
    """Differentiates graphs."""

    def apply(
        self,
        ir: Any,
        identifier: str,
        provided: Iterable[str],
        required: Any,
        known: Mapping[str, BwdGraphInfo],
    ) -> dict[Any, BwdGraphInfo]:
        """The backward graphs of a graph and of those that it calls."""
        graph = ir.getGraph(identifier)
        wanted = required.value() if hasattr(required, "value") else required
        called = {ir.getGraph(key): core_of(ir, ir.getGraph(key), info) for key, info in known.items()}
        found = differentiate(
            graph,
            [graph.getTensor(each) for each in provided],
            None if wanted is None else [graph.getTensor(each) for each in wanted],
            called,
        )
        return {each.id: info_of(info) for each, info in found.items()}
