"""Tensors with the names of PopART's bindings."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from popart import TileSet
from tremula.frontends.popxl import model
from tremula.frontends.popxl.aliases import sharing_of
from tremula.frontends.popxl.info import Settings as CoreSettings
from tremula.frontends.popxl.ops.table import find

from ..errors import graph_error_class
from ._enums import ExecutionContext, TensorType
from ._values import TensorInfo
from .view import Region

if TYPE_CHECKING:
    from ._graph import Graph, Ir
    from ._ops import Op


class GraphId(builtins.str):
    """The identifier of a graph."""

    def str(self) -> builtins.str:
        """As a plain string."""
        return builtins.str(self)


class Settings(CoreSettings):
    """What the context said when an op was created."""

    @property
    def tileSet(self) -> TileSet:
        """The tiles that the op is on."""
        return TileSet.IO if self.io_tiles else TileSet.Compute

    @property
    def executionContext(self) -> ExecutionContext:
        """When the op runs."""
        return ExecutionContext[self.fragment.value]


class Consumers(list):
    """The ops that read a tensor."""

    def getOps(self) -> list[Op]:
        """As a plain list."""
        return list(self)


class Tensor(model.Tensor):
    """A tensor of a graph."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.consumers = Consumers()

    @property
    def id(self) -> str:
        """The identifier."""
        return self.identifier

    @property
    def info(self) -> TensorInfo:
        """Element type and shape."""
        return TensorInfo.of(self.type)

    def tensor_type(self) -> str:
        """Where its value comes from, as text."""
        return self.kind.value

    def tensorType(self) -> TensorType:
        """Where its value comes from."""
        return TensorType[self.kind.value]

    def hasTensorData(self) -> bool:
        """Whether the host has values of it."""
        return self.data is not None

    def getGraph(self) -> Graph:
        """The graph that it is part of."""
        return self.graph

    def getIr(self) -> Ir:
        """The IR that it is part of."""
        return self.graph.ir

    def hasProducer(self) -> bool:
        """Whether an op produces it."""
        return self.producer is not None

    def getProducer(self) -> Op:
        """The op that produces it."""
        if self.producer is None:
            raise graph_error_class()(f"No op produces {self.identifier}.")
        return self.producer

    def getVirtualGraphIdUnsafe(self) -> int:
        """Its IPU, or -1."""
        ipu, _ = self.place()
        return -1 if ipu is None else ipu

    def getVirtualGraphIdAndTileSetUnsafe(self) -> tuple[int, TileSet | None]:
        """Its IPU or -1, and its tiles."""
        ipu, io_tiles = self.place()
        tiles = None if io_tiles is None else TileSet.IO if io_tiles else TileSet.Compute
        return (-1 if ipu is None else ipu), tiles

    def modifiedRegionsByOps(self, ops: Iterable[Op]) -> list[Region]:
        """The parts of it that ops write to: all of it, or nothing."""
        ops = list(ops)
        graph = self.graph
        found = sharing_of(graph, graph.schedule(), _summary)
        places = [index for index, tensor in enumerate(graph.inputs) if tensor is self]
        written = bool(places and places[0] in found.summary.modified)
        return [Region.getFull(self.type.shape) if written else Region.getEmpty(len(self.type.shape))]

    def isAliased(self) -> bool:
        """Whether another tensor of the graph shares its memory."""
        return any(_shares(op) for op in self.consumers) or (
            self.producer is not None and _shares(self.producer)
        )

    def isInSyncWithIPU(self) -> bool:
        """Whether the host's values are the device's."""
        return getattr(self, "in_sync", True)


def _shares(op: model.Op) -> bool:
    kernel = find(op.kind)
    return bool(kernel.modifies) or kernel.alias.value == "view"


def _summary(graph: model.Graph) -> Any:
    return sharing_of(graph, graph.schedule(), _summary).summary
