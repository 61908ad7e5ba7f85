"""The PopXL graph: an IR holds graphs, a graph holds ops in the order of their execution, and tensors by name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tremula.distributed.replica_share import ReplicaShare
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import Settings, TensorInfo, TensorKind

_ir_ids = itertools.count()


class Tensor:
    """A value of a graph; its identifier is unique in the IR."""

    def __init__(
        self, graph: Graph, identifier: str, info: TensorInfo, kind: TensorKind = TensorKind.ACT_GRAD
    ) -> None:
        self.graph = graph
        self.identifier = identifier
        self.type = info
        self.kind = kind
        self.producer: Op | None = None
        self.consumers: list[Op] = []
        #: of a constant: what it is; of a variable: what the host holds, groups of replicas in front
        self.data: np.ndarray[Any, Any] | None = None
        #: of a variable: how replicas share it, and where it lies
        self.settings: VariableSettings | None = None

    @property
    def name(self) -> str:
        """The identifier without the scope of the graph."""
        return self.graph.unscoped(self.identifier)

    @property
    def ir(self) -> Ir:
        """The IR that it is part of."""
        return self.graph.ir

    def place(self) -> tuple[int | None, bool | None]:
        """The IPU and whether it lies on IO tiles, as far as the ops around it say."""
        if self.producer is not None:
            return self.producer.place_of_outputs()
        for op in self.consumers:
            ipu, io_tiles = op.place_of_input(self)
            if ipu is not None or io_tiles is not None:
                return ipu, io_tiles
        return None, None


@dataclass
class VariableSettings:
    """How a variable is spread over replicas, and whether it lies in a remote buffer."""

    #: group of each replica
    assignment: Sequence[int]
    all_replicas: bool = False
    remote_buffer: int | None = None
    remote_offset: int = 0
    sharded: bool = False

    @property
    def groups(self) -> int:
        """Number of groups on the host."""
        return len(set(self.assignment))


@dataclass
class RemoteBuffer:
    """Host memory that ops load from and store to."""

    type: TensorInfo
    entries: int


class Op:
    """One operation: kind, attributes, and tensors by index."""

    def __init__(self, graph: Graph, kind: str, attributes: Mapping[str, Any], settings: Settings) -> None:
        self.identifier = graph.ir.next_op()
        self.graph = graph
        self.kind = kind
        self.attributes: dict[str, Any] = dict(attributes)
        self.settings = settings
        self.inputs: dict[int, Tensor] = {}
        self.outputs: dict[int, Tensor] = {}

    def __repr__(self) -> str:
        return f"{self.kind}({self.identifier})"

    @property
    def ir(self) -> Ir:
        """The IR that it is part of."""
        return self.graph.ir

    @property
    def input_list(self) -> list[Tensor]:
        """Inputs in the order of their indices."""
        return [self.inputs[index] for index in sorted(self.inputs)]

    @property
    def output_list(self) -> list[Tensor]:
        """Outputs in the order of their indices."""
        return [self.outputs[index] for index in sorted(self.outputs)]

    @property
    def called(self) -> list[Graph]:
        """The graphs that it calls."""
        return list(self.attributes.get("graphs", ()))

    @property
    def modified(self) -> dict[int, bool]:
        """Of a call: the inputs whose changes the caller sees."""
        return self.attributes.setdefault("modified", {})  # type: ignore[no-any-return]

    def connect(self, index: int, tensor: Tensor) -> None:
        """Read `tensor` as the input at `index`."""
        old = self.inputs.pop(index, None)
        if old is not None and old not in self.inputs.values():
            old.consumers.remove(self)
        self.inputs[index] = tensor
        if self not in tensor.consumers:
            tensor.consumers.append(self)

    def create_output(self, index: int, identifier: str, info: TensorInfo | None = None) -> Tensor:
        """Make the tensor of the output at `index`; without `info` it is known after `infer`."""
        tensor = self.graph.add_tensor(identifier, info or TensorInfo("float32", ()))
        tensor.producer = self
        self.outputs[index] = tensor
        return tensor

    def disconnect_inputs(self) -> None:
        """Read nothing any more."""
        for tensor in set(self.inputs.values()):
            tensor.consumers.remove(self)
        self.inputs.clear()

    def disconnect_outputs(self) -> None:
        """Produce nothing any more."""
        for tensor in self.outputs.values():
            tensor.producer = None
        self.outputs.clear()

    def infer(self) -> None:
        """Set shapes and types of the outputs."""
        from tremula.frontends.popxl.infer import infer

        for index, info in infer(self).items():
            self.outputs[index].type = info

    def clone_into(self, graph: Graph) -> Op:
        """The same operation in another graph, connected to nothing."""
        attributes = dict(self.attributes)
        if "modified" in attributes:
            attributes["modified"] = dict(attributes["modified"])
        op = graph.ir.types.op(self.kind)(graph, self.kind, attributes, self.settings)
        graph.ops.append(op)
        return op

    def place_of_outputs(self) -> tuple[int | None, bool | None]:
        """Where its outputs lie."""
        if self.kind == "IpuCopy":
            return self.attributes["destination"], self.settings.io_tiles
        return self.settings.ipu, self.settings.io_tiles

    def place_of_input(self, tensor: Tensor) -> tuple[int | None, bool | None]:
        """Where it reads `tensor`."""
        if self.kind == "IpuCopy":
            return self.attributes["source"], self.settings.io_tiles
        if self.kind == "IoTileCopy":
            return self.settings.ipu, not self.settings.io_tiles
        if self.kind == "Call":
            for index, each in self.inputs.items():
                if each is tensor and index < len(self.called[0].inputs):
                    return self.called[0].inputs[index].place()
        return self.settings.ipu, self.settings.io_tiles


@dataclass(frozen=True)
class Types:
    """The classes that an IR makes its parts from: a shim may add its own interface to them."""

    graph: Callable[..., Graph]
    tensor: Callable[..., Tensor]
    op: Callable[[str], Callable[..., Op]]


@dataclass
class Graph:
    """A list of ops with inputs and outputs."""

    ir: Ir
    identifier: str
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    #: pairs of ops of which the first has to run before the second
    order: list[tuple[Op, Op]] = field(default_factory=list)
    may_be_differentiated: bool = True

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def scoped(self, name: str) -> str:
        """`name` with the scope of this graph; that of the main graph is empty."""
        return f"{self.identifier}/{name}" if self.identifier else name

    def unscoped(self, identifier: str) -> str:
        """An identifier without the scope of this graph."""
        prefix = f"{self.identifier}/"
        if self.identifier and not identifier.startswith(prefix):
            raise graph_error(f"{identifier} is not in the scope of the graph {self.identifier}.")
        return identifier[len(prefix) :] if self.identifier else identifier

    def unique(self, name: str) -> str:
        """An identifier for a tensor of that name."""
        return self.ir.unique_tensor(self.scoped(name))

    def add_tensor(self, identifier: str, info: TensorInfo, kind: TensorKind = TensorKind.ACT_GRAD) -> Tensor:
        """A tensor of that identifier."""
        if identifier in self.tensors:
            raise graph_error(f"The graph {self.identifier or 'main'} has a tensor {identifier} already.")
        tensor = self.ir.types.tensor(self, identifier, info, kind)
        self.tensors[identifier] = tensor
        self.ir.names.add(identifier)
        return tensor

    def add_input(self, identifier: str, info: TensorInfo, index: int | None = None) -> Tensor:
        """A tensor that callers give."""
        tensor = self.add_tensor(identifier, info)
        self.inputs.insert(len(self.inputs) if index is None else index, tensor)
        return tensor

    def add_op(
        self,
        kind: str,
        inputs: Mapping[int, Tensor],
        outputs: Mapping[int, str],
        attributes: Mapping[str, Any] | None = None,
        settings: Settings | None = None,
        infos: Mapping[int, TensorInfo] | None = None,
    ) -> Op:
        """Append an op; `outputs` are names. Without `infos` shapes and types are inferred."""
        settings = settings or Settings()
        op = self.ir.types.op(kind)(self, kind, attributes or {}, settings)
        for index, tensor in inputs.items():
            op.connect(index, tensor)
        for index, name in outputs.items():
            op.create_output(index, self.unique(name), None if infos is None else infos[index])
        if infos is None:
            try:
                op.infer()
            except Exception:
                op.disconnect_inputs()
                for tensor in op.outputs.values():
                    self.tensors.pop(tensor.identifier)
                raise
        self.ops.append(op)
        return op

    def erase(self, op: Op) -> None:
        """Remove an op; what it produced and nobody needs goes with it."""
        op.disconnect_inputs()
        op.disconnect_outputs()
        self.ops.remove(op)
        self.order = [pair for pair in self.order if op not in pair]

    def called_graphs(self) -> list[Graph]:
        """The graphs that its ops call, each once, in order."""
        return list(dict.fromkeys(graph for op in self.ops for graph in op.called))

    def schedule(self) -> list[Op]:
        """Its ops in an order that data and constraints allow: that of creation, where it is one."""
        from tremula.frontends.popxl.schedule import scheduled

        return scheduled(self)


class Ir:
    """Graphs, streams and remote buffers of one program."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.identifier = next(_ir_ids)
        self.names: set[str] = set()
        self.main = types.graph(self, "")
        self.graphs: dict[str, Graph] = {"": self.main}
        self.remote_buffers: dict[int, RemoteBuffer] = {}
        self.host_transfers = 1
        #: the replicas, and which of them are in this instance
        self.share = ReplicaShare()
        self.prepared = False
        #: whether scales of float8 that do not exist stop the program
        self.checks_log2_scale = True
        #: whether, in a group norm, channel c belongs to group c % groups, and not to a run of neighbours
        self.strided_groups = False
        # PopART counts ops from here
        self._op_ids = itertools.count(100)
        self._graph_counts: dict[str, int] = {}
        self._tensor_counts: dict[str, int] = {}

    @property
    def replicas(self) -> int:
        """Replicas of all instances."""
        return self.share.total

    @replicas.setter
    def replicas(self, count: int) -> None:
        self.share = ReplicaShare.alone(count)

    def next_op(self) -> int:
        """An identifier for an op."""
        return next(self._op_ids)

    def create_graph(self, identifier: str) -> Graph:
        """An empty graph."""
        if identifier in self.graphs:
            raise graph_error(f"There is a graph {identifier} already.")
        graph = self.types.graph(self, identifier)
        self.graphs[identifier] = graph
        return graph

    def unique_graph(self, name: str) -> str:
        """An identifier for a graph of that name, counted from 0."""
        count = self._graph_counts.get(name, 0)
        self._graph_counts[name] = count + 1
        return f"{name}_subgraph({count})"

    def unique_tensor(self, identifier: str) -> str:
        """`identifier`, with a number behind it if it is taken."""
        if identifier not in self.names:
            return identifier
        count = self._tensor_counts.get(identifier, 0)
        while True:
            count += 1
            found = f"{identifier}__{count}"
            if found not in self.names:
                self._tensor_counts[identifier] = count
                return found

    def find_tensor(self, identifier: str) -> Tensor:
        """The tensor of that identifier."""
        for graph in self.graphs.values():
            if identifier in graph.tensors:
                return graph.tensors[identifier]
        raise graph_error(f"There is no tensor {identifier}.")

    def call_sites(self, graph: Graph) -> Iterator[Op]:
        """The ops that call `graph`."""
        for each in self.graphs.values():
            for op in each.ops:
                if graph in op.called:
                    yield op

    def reachable(self) -> list[Graph]:
        """The main graph and all that it calls, in the order of their first call."""
        found: dict[Graph, None] = {}
        waiting = [self.main]
        while waiting:
            graph = waiting.pop(0)
            if graph not in found:
                found[graph] = None
                waiting += graph.called_graphs()
        return list(found)


def add_graph_output(graph: Graph, tensor: Tensor, sites: Iterable[Op] | None = None) -> None:
    """Return `tensor` from `graph`, also at the calls of it that exist."""
    if tensor in graph.outputs:
        return
    for op in list(graph.ir.call_sites(graph)) if sites is None else sites:
        if op.kind == "Call" and len(op.outputs) == len(graph.outputs):
            op.create_output(len(op.outputs), op.graph.unique(tensor.name), tensor.type)
    graph.outputs.append(tensor)
