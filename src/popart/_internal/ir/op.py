"""The classes of ops, for `isinstance`, and what calls of graphs have on top."""

from __future__ import annotations

import types
from typing import Any

from popart._enums import PopartEnum
from tremula.frontends.popxl.ops.gradients import backward_kind
from tremula.frontends.popxl.ops.table import known

from ..errors import graph_error_class
from ._graph import Graph
from ._ops import Op
from .view import Region


class _Calling(Op):
    """An op that calls one graph."""

    def getCalledGraph(self) -> Graph:
        """The graph that it calls."""
        return self.called[0]

    def subgraphInToOpInIndex(self, index: int) -> int:
        """Index of the op's input for one of the graph's."""
        return index

    def opInToSubgraphInIndex(self, index: int) -> int:
        """Index of the graph's input for one of the op's."""
        return index

    def subgraphOutToOpOutIndex(self, index: int) -> int:
        """Index of the op's output for one of the graph's."""
        return index

    def opOutToSubgraphOutIndex(self, index: int) -> int:
        """Index of the graph's output for one of the op's."""
        return index

    def addModified(self, index: int, regions: Any) -> None:
        """Have the caller see the changes of an input, unless the regions are empty."""
        regions = list(regions)
        if regions and not all(isinstance(each, Region) and each.isEmpty() for each in regions):
            self.modified[index] = True


class CallOp(_Calling):
    """A call of a graph."""


class LoopOp(_Calling):
    """A graph that is called several times. Its first inputs are the number of the turn and whether to go on."""

    def subgraphOutToOpOutIndex(self, index: int) -> int:
        """Index of the op's output for one of the graph's, whose first says whether to go on."""
        return index - 1

    def opOutToSubgraphOutIndex(self, index: int) -> int:
        """Index of the graph's output for one of the op's."""
        return index + 1

    def getTripCountValue(self) -> int:
        """How often the graph is called."""
        return self.attributes["trip_count"]

    def setTripCountValue(self, value: int) -> None:
        """Set how often the graph is called."""
        self.attributes["trip_count"] = value

    def getNumExplicitInputs(self) -> int:
        """Inputs that are carried from turn to turn, the number of the turn and the condition among them."""
        return len(self.called[0].outputs) + 1

    def addLoopInput(self, index: int, identifier: str, inner: str, overwrite: bool = False) -> None:
        """Give the graph another input, before those from `index` on."""
        body = self.called[0]
        tensor = self.graph.getTensor(identifier)
        if not overwrite:
            self._shift_inputs(index)
            body.add_input(inner, tensor.type, index)
        self.connect(index, tensor)

    def addLoopOutput(self, index: int, identifier: str, inner: str, overwrite: bool = False) -> None:
        """Return another value of the graph."""
        body = self.called[0]
        source = body.getTensor(inner)
        if overwrite and index in self.outputs:
            body.outputs[index + 1] = source
            return
        body.outputs.insert(index + 1, source)
        self.create_output(index, identifier, source.type)

    def _shift_inputs(self, index: int) -> None:
        behind = {place: tensor for place, tensor in self.inputs.items() if place >= index}
        modified = dict(self.modified)
        for place in behind:
            del self.inputs[place]
            self.modified.pop(place, None)
        for place, tensor in behind.items():
            self.inputs[place + 1] = tensor
            if modified.get(place):
                self.modified[place + 1] = True


class IfOp(Op):
    """One of two graphs, by a condition."""

    def getConditionInIndex(self) -> int:
        """Index of the condition."""
        return 0

    def subgraphInToOpInIndex(self, branch: int, index: int) -> int:
        """Index of the op's input for one of a branch's."""
        for outer, inner in self.attributes["inputs"][branch].items():
            if inner == index:
                return outer
        raise graph_error_class()(f"The branch has no input {index}.")

    def opInToSubgraphInIndex(self, branch: int, index: int) -> int:
        """Index of a branch's input for one of the op's, or -1."""
        return self.attributes["inputs"][branch].get(index, -1)

    def subgraphOutToOpOutIndex(self, branch: int, index: int) -> int:
        """Index of the op's output for one of a branch's."""
        return self._output(index)

    def opOutToSubgraphOutIndex(self, branch: int, index: int) -> int:
        """Index of a branch's output for one of the op's."""
        return self._output(index)

    def _output(self, index: int) -> int:
        if not 0 <= index < len(self.called[0].outputs):
            raise graph_error_class()(f"The branches have no output {index}.")
        return index


class IpuCopyOp(Op):
    """A copy to another IPU."""

    def getSourceIpu(self, identifier: str | None = None) -> int:
        """Where it copies from."""
        return self.attributes["source"]

    def getDestIpu(self) -> int:
        """Where it copies to."""
        return self.attributes["destination"]


class _Planned(Op):
    """An op that PopLibs plans within a share of the memory."""

    def setAvailableMemoryProportion(self, value: Any) -> None:
        """Set the share of the memory."""
        self.attributes["available_memory_proportion"] = value.value() if hasattr(value, "value") else value

    def getAvailableMemoryProportion(self) -> float | None:
        """The share of the memory; None: not said."""
        return self.attributes.get("available_memory_proportion")


class MatMulOp(_Planned):
    """A product of matrices."""

    def useFullyConnectedPass(self) -> bool:
        """Whether PopLibs is told which pass of training it is part of."""
        return self.attributes.setdefault("fully_connected_pass", True)

    def setUseFullyConnectedPass(self, value: bool) -> None:
        """Set whether PopLibs is told which pass of training it is part of."""
        self.attributes["fully_connected_pass"] = value

    def getPartialsType(self) -> MatMulPartialsType:
        """The type of partial sums."""
        return MatMulPartialsType[self.attributes.get("partials_type", "FLOAT")]


class GatherOp(_Planned):
    """Rows by their numbers."""


class TiedGatherOp(_Planned):
    """Rows of a matrix that is also multiplied with."""


class ScatterReduceOp(_Planned):
    """Rows reduced into places by their numbers."""


class TopKOp(_Planned):
    """The largest or smallest elements."""


class ConvOptions:
    """Options of a convolution."""

    def __init__(self, proportions: list[float], partials: list[str]) -> None:
        self.availableMemoryProportions = proportions
        self.partialsTypes = partials


class ConvOp(Op):
    """A convolution."""

    def getConvOptions(self) -> ConvOptions:
        """Its options."""
        attributes = self.attributes
        return ConvOptions(
            list(attributes.get("available_memory_proportions") or []),
            list(attributes.get("partials_types") or []),
        )

    def setConvOptions(self, options: ConvOptions) -> None:
        """Set its options."""
        self.attributes["available_memory_proportions"] = list(options.availableMemoryProportions)
        self.attributes["partials_types"] = list(options.partialsTypes)


class MatMulPartialsType(PopartEnum):
    """Types of partial sums."""

    HALF = 0
    FLOAT = 1


#: by kind of op; all others get a class when they are first asked for
_CLASSES: dict[str, type[Op]] = {
    "Call": CallOp,
    "Loop": LoopOp,
    "If": IfOp,
    "IpuCopy": IpuCopyOp,
    "MatMul": MatMulOp,
    "MatMulLhsGrad": MatMulOp,
    "MatMulRhsGrad": MatMulOp,
    "Gather": GatherOp,
    "TiedGather": TiedGatherOp,
    "ScatterReduce": ScatterReduceOp,
    "TopK": TopKOp,
    "Conv": ConvOp,
}


#: classes whose names do not end as the others'
_WITHOUT_SUFFIX = ("IsInf", "IsNaN")


def class_of(kind: str) -> type[Op]:
    """The class of ops of a kind."""
    if kind not in _CLASSES:
        _CLASSES[kind] = type(
            f"{kind}Op", (Op,), {"__doc__": f"Ops of the kind {kind}.", "__module__": __name__}
        )
    return _CLASSES[kind]


def _class_by_name(name: str) -> type[Op]:
    if name in _WITHOUT_SUFFIX:
        return class_of(name)
    kind = name.removesuffix("Op")
    if not name.endswith("Op") or (kind not in known() and not _is_backward(kind)):
        raise AttributeError(f"popart._internal.ir.op has no {name}", name=name)
    return class_of(kind)


def _is_backward(kind: str) -> bool:
    forward = kind.removesuffix("Grad")
    if forward == kind or forward not in known():
        return False
    backward_kind(forward)
    return True


class _Family(types.ModuleType):
    """A module with some of the classes."""

    def __getattr__(self, name: str) -> type[Op]:
        return _class_by_name(name)


exchange = _Family("popart._internal.ir.op.exchange")
collectives = _Family("popart._internal.ir.op.collectives")
dynamic = _Family("popart._internal.ir.op.dynamic")


def __getattr__(name: str) -> type[Op]:
    return _class_by_name(name)
