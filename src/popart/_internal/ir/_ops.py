"""Ops with the names of PopART's bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tremula.frontends.popxl import model
from tremula.frontends.popxl.ops.library_ops import ORIGINAL
from tremula.frontends.popxl.ops.table import find

from ..errors import graph_error_class

if TYPE_CHECKING:
    from ._graph import Graph, Ir
    from ._tensors import GraphId, Settings, Tensor


class Op(model.Op):
    """An op of a graph."""

    @property
    def id(self) -> int:
        """The identifier."""
        return self.identifier

    def opType(self) -> str:
        """The type, as PopART names it."""
        original = self.attributes.get(ORIGINAL)
        return find(self.kind).op_type if original is None else original.name

    def debugName(self) -> str:
        """Name and identifier."""
        return f"{self.settings.name} ({self.identifier})"

    def name(self) -> str:
        """The name."""
        return self.settings.name

    def getGraph(self) -> Graph:
        """The graph that it is part of."""
        return self.graph

    def getIr(self) -> Ir:
        """The IR that it is part of."""
        return self.graph.ir

    def getSettings(self) -> Settings:
        """What the context said when it was created."""
        return self.settings

    def hasVirtualGraphId(self) -> bool:
        """Whether it is placed on an IPU."""
        return self.settings.ipu is not None

    def getVirtualGraphId(self) -> int:
        """Its IPU."""
        if self.settings.ipu is None:
            raise graph_error_class()(f"{self} is not placed on an IPU.")
        return self.settings.ipu

    def getInputTensors(self) -> list[Tensor]:
        """Inputs in the order of their indices."""
        return self.input_list

    def getOutputTensors(self) -> list[Tensor]:
        """Outputs in the order of their indices."""
        return self.output_list

    def getInputIndexMap(self) -> dict[int, Tensor]:
        """Inputs by index."""
        return dict(sorted(self.inputs.items()))

    def getOutputIndexMap(self) -> dict[int, Tensor]:
        """Outputs by index."""
        return dict(sorted(self.outputs.items()))

    def inTensor(self, index: int) -> Tensor:
        """The input at an index."""
        return _at(self, self.inputs, index)

    def outTensor(self, index: int) -> Tensor:
        """The output at an index."""
        return _at(self, self.outputs, index)

    def inId(self, index: int) -> str:
        """The identifier of the input at an index."""
        return self.inTensor(index).identifier

    def outId(self, index: int) -> str:
        """The identifier of the output at an index."""
        return self.outTensor(index).identifier

    def hasInput(self, index: int) -> bool:
        """Whether something is connected at an index."""
        return index in self.inputs

    def hasOutput(self, index: int) -> bool:
        """Whether there is an output at an index."""
        return index in self.outputs

    def hasInputTensor(self, tensor: Tensor) -> bool:
        """Whether it reads a tensor."""
        return tensor in self.inputs.values()

    def inIndex(self, tensor: Tensor) -> int:
        """The first index at which it reads a tensor."""
        return self.firstInIndex(tensor)

    def firstInIndex(self, tensor: Tensor) -> int:
        """The first index at which it reads a tensor."""
        for index, each in sorted(self.inputs.items()):
            if each is tensor:
                return index
        raise IndexError(f"{self} does not read {tensor.identifier}")

    def connectInTensor(self, index: int, identifier: str, source_ipu: int | None = None) -> None:
        """Read the tensor of that identifier at an index."""
        self.connect(index, self.graph.getTensor(identifier))
        if source_ipu is not None:
            self.attributes["source"] = source_ipu

    def createAndConnectOutTensor(self, index: int, identifier: str) -> None:
        """Make the tensor of the output at an index."""
        if identifier in self.graph.ir.names:
            identifier = self.graph.ir.unique_tensor(identifier)
        self.create_output(index, identifier)

    def disconnectAllInputs(self) -> None:
        """Read nothing any more."""
        self.disconnect_inputs()

    def disconnectAllOutputs(self) -> None:
        """Produce nothing any more."""
        self.disconnect_outputs()

    def modifiesIndex(self, index: int) -> bool:
        """Whether it changes the input at an index, so that others see it."""
        return index in find(self.kind).modifies or bool(self.modified.get(index))

    def setup(self) -> None:
        """Set shapes and types of the outputs."""
        self.infer()

    def cloneIntoGraph(self, graph: Graph) -> Op:
        """The same op in another graph, connected to nothing."""
        return self.clone_into(graph)

    def getCalledGraphs(self) -> list[Graph]:
        """The graphs that it calls."""
        return self.called

    def getCalledGraphIds(self) -> list[GraphId]:
        """Their identifiers."""
        return [graph.id for graph in self.called]


def _at(op: Op, tensors: dict[int, Tensor], index: int) -> Tensor:
    if index not in tensors:
        raise graph_error_class()(f"{op} has no tensor at index {index}.")
    return tensors[index]
