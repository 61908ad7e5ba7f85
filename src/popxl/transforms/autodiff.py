"""Automatic differentiation of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import popart._internal.ir as _ir
from popart._internal.ir.transforms import core_of, info_of
from tremula.frontends.popxl.autodiff import differentiate

from ..graph import Graph
from ..ops.call import CallSiteInfo
from ..tensor import Tensor


class ExpectedConnectionType(Enum):
    """Whether an input or output of a backward graph is a forward tensor, or the gradient of one."""

    Fwd = "Fwd"
    FwdGrad = "FwdGrad"

    @classmethod
    def _from_pb(cls, kind: _ir.ExpectedConnectionType) -> ExpectedConnectionType:
        return cls[kind.name]

    def _to_pb(self) -> _ir.ExpectedConnectionType:
        return _ir.ExpectedConnectionType[self.name]


class ExpectedConnection:
    """The forward tensor of one input or output of a backward graph."""

    _fwd_graph: _ir.Graph
    _pb_ec: _ir.ExpectedConnection

    def __init__(self) -> None:
        raise TypeError("ExpectedConnection cannot be called: autodiff makes them.")

    @classmethod
    def _from_pb(cls, fwd_graph: _ir.Graph, pb_ec: _ir.ExpectedConnection) -> ExpectedConnection:
        self = super().__new__(cls)
        self._fwd_graph, self._pb_ec = fwd_graph, pb_ec
        return self

    @property
    def fwd_tensor(self) -> Tensor:
        """The tensor of the forward graph."""
        return Tensor._from_pb_tensor(self._fwd_graph.getTensor(self._pb_ec.fwdId))

    @property
    def connection_type(self) -> ExpectedConnectionType:
        """Whether it is that tensor, or its gradient."""
        return ExpectedConnectionType._from_pb(self._pb_ec.type)

    def __repr__(self) -> str:
        return f"({self.connection_type}, {self.fwd_tensor})"


class GradGraphInfo:
    """A backward graph, with the forward tensors of its inputs and outputs."""

    _ir: _ir.Ir
    _fwd_graph: _ir.Graph
    _pb_bwd_info: _ir.BwdGraphInfo
    _expected_inputs: list[ExpectedConnection]
    _expected_outputs: list[ExpectedConnection]

    def __init__(self) -> None:
        raise TypeError("GradGraphInfo cannot be called: autodiff makes them.")

    @classmethod
    def _from_pb(cls, ir: _ir.Ir, fwd_graph: _ir.Graph, _pb_bwd_info: _ir.BwdGraphInfo) -> GradGraphInfo:
        self = super().__new__(cls)
        self._ir, self._fwd_graph, self._pb_bwd_info = ir, fwd_graph, _pb_bwd_info
        self._expected_inputs = [
            ExpectedConnection._from_pb(fwd_graph, each) for each in _pb_bwd_info.expectedInputs
        ]
        self._expected_outputs = [
            ExpectedConnection._from_pb(fwd_graph, each) for each in _pb_bwd_info.expectedOutputs
        ]
        return self

    @property
    def graph(self) -> Graph:
        """The backward graph."""
        return Graph._from_pb(self._ir.getGraph(self._pb_bwd_info.bwdGraphId))

    @property
    def forward_graph(self) -> Graph:
        """The forward graph."""
        return Graph._from_pb(self._fwd_graph)

    @property
    def expected_inputs(self) -> tuple[ExpectedConnection, ...]:
        """The inputs."""
        return tuple(self._expected_inputs)

    @property
    def expected_outputs(self) -> tuple[ExpectedConnection, ...]:
        """The outputs."""
        return tuple(self._expected_outputs)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The forward tensors of the inputs."""
        return tuple(each.fwd_tensor for each in self._expected_inputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The forward tensors whose gradients are outputs."""
        return tuple(each.fwd_tensor for each in self._expected_outputs)

    def inputs_dict(self, fwd_call_info: CallSiteInfo) -> dict[Tensor, Tensor]:
        """The inputs that are forward tensors, with those of a call of the forward graph."""
        if fwd_call_info.called_graph != self.forward_graph:
            raise TypeError(f"That call is of {fwd_call_info.called_graph}, not of {self.forward_graph}.")
        inputs = self.graph.inputs
        return {
            inputs[index]: fwd_call_info.graph_to_parent(each.fwd_tensor)
            for index, each in enumerate(self._expected_inputs)
            if each.connection_type is ExpectedConnectionType.Fwd
        }

    def fwd_graph_ins_to_grad_parent_outs(self, grad_call_info: CallSiteInfo) -> dict[Tensor, Tensor]:
        """By forward tensor, its gradient from a call of the backward graph."""
        outputs = self.graph.outputs
        return {t: grad_call_info.graph_to_parent(outputs[index]) for index, t in enumerate(self.outputs)}

    def fwd_parent_ins_to_grad_parent_outs(
        self, fwd_call_info: CallSiteInfo, grad_call_info: CallSiteInfo
    ) -> dict[Tensor, Tensor]:
        """For each tensor that the forward graph was called with, its gradient from a call of the backward graph."""
        found = self.fwd_graph_ins_to_grad_parent_outs(grad_call_info)
        return {fwd_call_info.graph_to_parent(t): gradient for t, gradient in found.items()}

    def __repr__(self) -> str:
        lines = ["GradGraphInfo[", f"  graph={self.graph.id}", "  expected_inputs=["]
        lines += [f"    {each!r}" for each in self._expected_inputs]
        lines += ["  ]", "  expected_outputs=["]
        lines += [f"    {each!r}" for each in self._expected_outputs]
        return "\n".join([*lines, "  ]", "]"])


def autodiff(
    graph: Graph,
    grads_provided: Iterable[Tensor] | None = None,
    grads_required: Iterable[Tensor] | None = None,
    called_graphs_grad_info: Mapping[Graph, GradGraphInfo] | None = None,
    return_all_grad_graphs: bool = False,
) -> Any:
    """The backward graph of `graph`: from gradients of outputs to gradients of inputs.

    Forward values that it reads become outputs of `graph`. Graphs that `graph` calls are differentiated as well, unless
    `called_graphs_grad_info` has their backward graphs.
    """
    ir = graph.ir._pb_ir
    known = {
        each._pb_graph: core_of(ir, each._pb_graph, info._pb_bwd_info)
        for each, info in (called_graphs_grad_info or {}).items()
    }
    found = differentiate(
        graph._pb_graph,
        None if grads_provided is None else [each._pb_tensor for each in grads_provided],
        None if grads_required is None else [each._pb_tensor for each in grads_required],
        known,
    )
    result = {
        Graph._from_pb(each): GradGraphInfo._from_pb(ir, each, info_of(info)) for each, info in found.items()
    }
    return result if return_all_grad_graphs else result[graph]
