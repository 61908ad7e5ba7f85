"""Graphs with the names of PopART's bindings."""

from __future__ import annotations

from typing import Any

from tremula import log
from tremula.frontends.popxl import model
from tremula.frontends.popxl.info import TensorKind

from ..errors import graph_error_class
from . import patterns
from ._enums import TensorType
from ._ops import Op
from ._options import session_options
from ._tensors import GraphId, Tensor
from ._values import TensorInfo


class TopoCons:
    """The constraints on the order of the ops of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def insert(self, before: Op, after: Op, tied: bool = False) -> None:
        """Have one op run before another."""
        self._graph.order.append((before, after))

    def contains(self, before: Op, after: Op) -> bool:
        """Whether that was asked for."""
        return (before, after) in self._graph.order

    def transferToSubgraph(self, replacement: Op, moved: dict[Op, list[Op]], remove: bool = True) -> None:
        """Constraints among moved ops go with them; those with others hold for `replacement`."""
        kept = []
        for before, after in self._graph.order:
            if before in moved and after in moved:
                inner = moved[before][0].graph
                inner.order += [(first, second) for first in moved[before] for second in moved[after]]
            elif before in moved:
                kept.append((replacement, after))
            elif after in moved:
                kept.append((before, replacement))
            else:
                kept.append((before, after))
        self._graph.order = list(dict.fromkeys(kept))


class Graph(model.Graph):
    """A graph."""

    __hash__ = model.Graph.__hash__

    @property
    def id(self) -> GraphId:
        """The identifier."""
        return GraphId(self.identifier)

    def getIr(self) -> Ir:
        """The IR that it is part of."""
        return self.ir

    def getScope(self) -> GraphId:
        """The scope of the identifiers of its tensors."""
        return GraphId(self.identifier)

    def getOps(self) -> list[Op]:
        """Its ops as they were created."""
        return list(self.ops)

    def getOpIds(self) -> list[int]:
        """Their identifiers."""
        return [op.identifier for op in self.ops]

    def getOp(self, identifier: int) -> Op:
        """The op of that identifier."""
        for op in self.ops:
            if op.identifier == identifier:
                return op
        raise graph_error_class()(f"There is no op {identifier} in the graph {self.identifier}.")

    def getOpSchedule(self, requireOptimal: bool = False) -> list[Op]:
        """Its ops in the order of their execution."""
        return self.schedule()

    def eraseOp(self, identifier: int) -> None:
        """Remove an op."""
        op = self.getOp(identifier)
        outputs = list(op.outputs.values())
        self.erase(op)
        for tensor in outputs:
            if not tensor.consumers and tensor not in self.outputs:
                self.tensors.pop(tensor.identifier, None)

    def getCalledGraphs(self) -> list[Graph]:
        """The graphs that its ops call."""
        return self.called_graphs()

    def getInputIds(self) -> list[str]:
        """Identifiers of its inputs."""
        return [tensor.identifier for tensor in self.inputs]

    def getOutputIds(self) -> list[str]:
        """Identifiers of its outputs."""
        return [tensor.identifier for tensor in self.outputs]

    def getInputId(self, index: int) -> str:
        """The identifier of an input."""
        return self.inputs[index].identifier

    def getOutputId(self, index: int) -> str:
        """The identifier of an output."""
        return self.outputs[index].identifier

    def getInputTensor(self, index: int) -> Tensor:
        """An input."""
        return self.inputs[index]

    def getOutputTensor(self, index: int) -> Tensor:
        """An output."""
        return self.outputs[index]

    def hasInputId(self, identifier: str) -> bool:
        """Whether a tensor is an input."""
        return identifier in self.getInputIds()

    def hasOutputId(self, identifier: str) -> bool:
        """Whether a tensor is an output."""
        return identifier in self.getOutputIds()

    def getInputIndex(self, identifier: str) -> int:
        """The index of an input."""
        return _index(self, self.getInputIds(), identifier, "input")

    def getOutputIndex(self, identifier: str) -> int:
        """The index of an output."""
        return _index(self, self.getOutputIds(), identifier, "output")

    def getTensor(self, identifier: str) -> Tensor:
        """The tensor of that identifier, or of that name."""
        found = self.tensors.get(identifier) or self.tensors.get(self.scoped(identifier))
        if found is None:
            raise graph_error_class()(
                f"There is no tensor {identifier} in the graph {self.identifier or 'main'}."
            )
        return found

    def getTensors(self) -> list[Tensor]:
        """All tensors."""
        return list(self.tensors.values())

    def getTensorsOfType(self, kind: TensorType) -> list[Tensor]:
        """All tensors whose value comes from there."""
        return [each for each in self.tensors.values() if each.kind is TensorKind(kind.name)]

    def markAsOutput(self, identifier: str) -> None:
        """Return a tensor; calls that exist do not get it."""
        self.outputs.append(self.getTensor(identifier))

    def removeOutput(self, which: int | str) -> None:
        """Return an output no more; an index past the end means the last one.

        Programs remove several outputs by the indices that they had before, which PopART allows.
        """
        index = which if isinstance(which, int) else self.getOutputIndex(which)
        del self.outputs[min(index, len(self.outputs) - 1)]

    def removeInput(self, which: int | str) -> None:
        """Take an input no more."""
        index = which if isinstance(which, int) else self.getInputIndex(which)
        tensor = self.inputs.pop(index)
        if not tensor.consumers:
            self.tensors.pop(tensor.identifier)

    def addInput(self, identifier: str, info: TensorInfo) -> None:
        """Take another input."""
        self.add_input(identifier, info.core())

    def topoCons(self) -> TopoCons:
        """The constraints on the order of its ops."""
        return TopoCons(self)

    def setCanBeRecursivelyAutodiffed(self, value: bool) -> None:
        """Whether it may be differentiated where a graph that calls it is."""
        self.may_be_differentiated = value

    def getAllVirtualGraphIds(self, includeInvalid: bool = False) -> set[int]:
        """The IPUs that its ops are on."""
        found = set()
        for op in self.ops:
            for ipu in (op.settings.ipu, op.attributes.get("source"), op.attributes.get("destination")):
                if isinstance(ipu, int):
                    found.add(ipu)
        return found

    def __contains__(self, identifier: str) -> bool:
        return identifier in self.tensors


def _index(graph: Graph, identifiers: list[str], identifier: str, what: str) -> int:
    if identifier not in identifiers:
        raise graph_error_class()(f"{identifier} is not an {what} of the graph {graph.identifier}.")
    return identifiers.index(identifier)


def addScope(graph: Graph, name: str) -> str:
    """`name` with the scope of a graph."""
    return graph.scoped(name)


def removeScope(graph: Graph, identifier: str) -> str:
    """An identifier without the scope of a graph."""
    return graph.unscoped(identifier)


class DataFlow:
    """How often the host and the device exchange data in one run, while `popart` has no class for it."""

    def __init__(self, ir: Ir) -> None:
        self._ir = ir

    def batchesPerStep(self) -> int:
        """Transfers in one run."""
        return self._ir.host_transfers

    def setBatchesPerStep(self, value: int) -> None:
        """Set the transfers in one run."""
        self._ir.host_transfers = value


class Ir(model.Ir):
    """Graphs, streams and remote buffers of one program."""

    def __init__(self) -> None:
        from .op import class_of

        super().__init__(model.Types(Graph, Tensor, class_of))
        self._options = session_options()

    def getId(self) -> int:
        """The identifier."""
        return self.identifier

    def getMainGraph(self) -> Graph:
        """The main graph."""
        return self.main

    def getAllGraphs(self) -> list[Graph]:
        """All graphs."""
        return list(self.graphs.values())

    def getGraph(self, identifier: str) -> Graph:
        """The graph of that identifier."""
        return self.graphs[str(identifier)]

    def createGraph(self, identifier: str) -> Graph:
        """An empty graph."""
        return self.create_graph(str(identifier))

    def createUniqueSubgraphId(self, name: str) -> GraphId:
        """An identifier for a graph of that name."""
        return GraphId(self.unique_graph(name))

    def createIntermediateTensorId(self, identifier: str) -> str:
        """An identifier for another tensor."""
        return self.unique_tensor(identifier)

    def getTensor(self, identifier: str) -> Tensor:
        """The tensor of that identifier."""
        return self.find_tensor(identifier)

    def getSessionOptions(self) -> Any:
        """The options with which a session compiles it."""
        return self._options

    def getDataFlow(self) -> DataFlow:
        """How often host and device exchange data."""
        return DataFlow(self)

    def isPrepared(self) -> bool:
        """Whether a session has compiled it."""
        return self.prepared

    def setPatterns(self, which: patterns.Patterns) -> None:
        """Choose rewrites, which have no effect."""
        patterns.no_effect()

    def applyPreAliasPatterns(self, graph: Graph) -> None:
        """Apply rewrites, which have no effect."""
        patterns.no_effect()

    def applyInplacePattern(self, graph: Graph) -> None:
        """Let ops work in place, which has no effect: torch manages the memory."""
        patterns.no_effect()

    def logIr(self) -> None:
        """Write all graphs to the log."""
        for graph in self.graphs.values():
            lines = [f"graph {graph.identifier or 'main'}:"]
            for op in graph.schedule():
                given = ", ".join(tensor.identifier for tensor in op.input_list)
                made = ", ".join(tensor.identifier for tensor in op.output_list)
                lines.append(f"  {op} ({given}) -> ({made})")
            log.layer("popart:ir").debug("%s", "\n".join(lines))

    def updateVertices(self) -> None:
        """Nothing to do: ops are always up to date."""
