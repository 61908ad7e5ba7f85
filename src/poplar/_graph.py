"""`Graph`, with the names and argument orders of the C++ class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO, cast

import numpy as np

from poplar._tensor import as_tensor
from tremula import log
from tremula.frontends.poplar.codelets import loading
from tremula.frontends.poplar.errors import GraphObjectCreationError, InvalidTileMapping, UnknownVertexType
from tremula.frontends.poplar.graph import connect as _connect
from tremula.frontends.poplar.graph import dot
from tremula.frontends.poplar.graph import estimates as _estimates
from tremula.frontends.poplar.graph.clone import clone as _clone
from tremula.frontends.poplar.graph.connect import FieldRef, VertexRef
from tremula.frontends.poplar.graph.graph import Graph as _Graph
from tremula.frontends.poplar.graph.mapping import UNMAPPED
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.libs import poputil
from tremula.frontends.poplar.program.endpoints import DataStream, Function, HostFunction, RemoteBuffer
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.types import UNSIGNED_INT, Type

from ._enums import CodeletFileType, ReplicatedStreamMode, TensorCloneMethod, VariableMappingMethod
from ._half import from_bits
from ._snake import with_snake_case
from ._target import Device, Target
from ._tensor import Interval, Tensor

#: intervals of a flattened tensor for each tile
TileMapping = Sequence[Sequence[Interval]]


@with_snake_case
class Graph(_Graph):
    """Variables on tiles, vertices, compute sets, and what connects a program with the host."""

    view_class = Tensor

    def __init__(self, target: Target | Device | None = None, replicationFactor: int = 1) -> None:
        if target is None:
            target = Target.createIPUTarget(1)
        if isinstance(target, Device):
            target = target.getTarget()
        if not isinstance(target, Target):
            raise GraphObjectCreationError(f"a graph needs a Target or a Device, not {type(target).__name__}")
        super().__init__(target.facts, int(replicationFactor))

    # -- target -------------------------------------------------------------------------------------------------

    def getTarget(self) -> Target:
        """The target of one replica, or of this part of it."""
        facts = self.contents.target.share(self.contents.replicas)
        if self.tiles is None:
            return Target(facts)
        return Target(facts).createVirtualTarget(*_split(self.tile_count, facts.tiles_per_ipu))

    target = property(getTarget)

    def getReplicationFactor(self) -> int:
        """The number of replicas."""
        return self.contents.replicas

    def getTopLevelGraph(self) -> Graph:
        """The whole graph."""
        whole = object.__new__(type(self))
        whole.contents, whole.memory, whole.tiles = self.contents, self.memory, None
        return whole

    def createVirtualGraph(self, lower: int | Sequence[int], upper: int | None = None) -> Graph:
        """`createVirtualGraph(first, end)`, `createVirtualGraph(tiles)`, or `createVirtualGraph(count)` of each IPU."""
        if upper is not None:
            return self.part(np.arange(lower, upper))  # type: ignore[arg-type]
        if isinstance(lower, Sequence):
            return self.part(np.asarray(lower, dtype=np.int64))
        per_ipu = self.contents.target.tiles_per_ipu
        if self.tile_count % per_ipu or not 0 < lower <= per_ipu:
            raise InvalidTileMapping(
                f"{lower} tiles of each IPU cannot be chosen from {self.tile_count} tiles"
            )
        firsts = np.arange(0, self.tile_count, per_ipu)
        return self.part(np.add.outer(firsts, np.arange(lower)).reshape(-1))

    # -- variables ----------------------------------------------------------------------------------------------

    def addVariable(self, type: Type, shape: Sequence[int], *options: Any, name: str = "") -> Tensor:
        """Add a variable: `addVariable(type, shape[, VariableMappingMethod][, name])`."""
        name = name or next((each for each in options if isinstance(each, str)), "")
        made = self.add_variable(type, shape, name)
        if VariableMappingMethod.LINEAR in options:
            poputil.map_tensor_linearly(self, made)
        return as_tensor(made)

    def addConstant(self, type: Type, shape: Sequence[int], values: Any, name: str = "") -> Tensor:
        """Add a constant. A single value applies to all elements."""
        return as_tensor(self.add_constant(type, shape, values, name))

    def addConstantHalf(self, type: Type, shape: Sequence[int], values: Any, name: str = "") -> Tensor:
        """Add a constant of half-precision numbers, or of 16-bit integers that contain their bits."""
        return as_tensor(self.add_constant(type, shape, from_bits(values), name))

    def addReplicationIndexConstant(self, name: str = "") -> Tensor:
        """Add a constant that contains the index of the replica."""
        made = self.add_constant(UNSIGNED_INT, [], 0, name or "replicationIndex")
        self.contents.replication_indices.append(self.memory.at(made.offset).number)
        return as_tensor(made)

    def clone(
        self,
        tensor: Tensor,
        name: str | TensorCloneMethod = "",
        method: TensorCloneMethod = TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES,
    ) -> Tensor:
        """A new tensor of the same shape on the same tiles."""
        if isinstance(name, TensorCloneMethod):
            method, name = name, ""
        order = method is not TensorCloneMethod.CREATE_NEW_ORDER
        aliases = method in (
            TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES,
            TensorCloneMethod.GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES,
        )
        if method is TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES and tensor.has_aliases():
            order = False
        return _clone(tensor, name, keep_order=order, keep_aliases=aliases)

    def setInitialValue(self, where: Tensor | FieldRef, values: Any) -> None:
        """Set the value that elements, or a plain member of a vertex, have when the program is loaded."""
        if isinstance(where, FieldRef):
            _connect.connect_field(where.vertex, where.name, values, where.edge)
        else:
            self.set_initial_value(where, values)

    def setInitialValueHalf(self, where: Tensor | FieldRef, values: Any) -> None:
        """Set the initial value from half-precision numbers, or from 16-bit integers that hold their bits."""
        self.setInitialValue(where, from_bits(values))

    # -- tiles --------------------------------------------------------------------------------------------------

    def setTileMapping(self, what: Tensor | VertexRef, where: int | TileMapping) -> None:
        """Map a tensor or a vertex to a tile, or parts of a tensor to tiles, with a list of intervals for each tile."""
        if isinstance(what, VertexRef):
            self.set_vertex_tile(what, cast(int, where))
        elif isinstance(where, int | np.integer):
            super().set_tile_mapping(what, int(where))
        else:
            flat = what.flatten()
            for tile, intervals in enumerate(where):
                for each in intervals:
                    super().set_tile_mapping(flat.slice_dimension(each.begin(), each.end()), tile)

    set_tile_mapping = setTileMapping  # type: ignore[assignment]

    def getTileMapping(self, tensor: Tensor, requireComplete: bool = True) -> list[list[Interval]]:
        """The intervals of the flattened tensor on each tile."""
        found: list[list[Interval]] = [[] for _ in range(self.tile_count)]
        for begin, end, tile in zip(*(part.tolist() for part in self.tile_mapping(tensor)), strict=True):
            if tile != UNMAPPED:
                found[tile].append(Interval(begin, end))
            elif requireComplete:
                raise InvalidTileMapping(
                    f"elements {begin} to {end - 1} of {tensor.getDebugStr()} are on no tile; "
                    "set their mapping, or ask with requireComplete=False"
                )
        return found

    def getSortedContiguousRegions(
        self, tensor: Tensor, regions: Sequence[Interval], removeAliasedIntervals: bool = False
    ) -> list[list[Interval]]:
        """The regions, split and sorted so that each list is contiguous in a variable."""
        pieces, flat = [], tensor.flatten()
        for region in regions:
            part = flat.slice_dimension(region.begin(), region.end())
            addresses = part.addresses().reshape(-1)
            for each in part.getContiguousRegions():
                first = int(addresses[each.begin()])
                pieces.append((first, region.begin() + each.begin(), each.size()))
        found: list[list[Interval]] = []
        end = None
        for address, begin, size in sorted(pieces):
            if removeAliasedIntervals and end is not None and address < end:
                continue
            if end != address:
                found.append([])
            found[-1].append(Interval(begin, begin + size))
            end = address + size * tensor.element_bytes
        return found

    # -- codelets and vertices ------------------------------------------------------------------------------------

    def addCodelets(
        self,
        source: Any,
        type: CodeletFileType = CodeletFileType.Auto,
        compileFlags: str = "",
        targetName: str = "",
    ) -> bool:
        """Add codelets: files or text in C++, files made by popc, or Python classes. C++ is compiled with the host's
        compiler: adding codelets runs their author's code."""
        if isinstance(type, str):  # the flags follow a text directly
            compileFlags, type = type, CodeletFileType.Auto
        loading.add_codelets(self, source, type.name, compileFlags, targetName)
        return True

    hasCodelet = _Graph.has_codelet
    addComputeSet = _Graph.add_compute_set
    addVertex = _Graph.add_vertex

    def connect(self, field: FieldRef, what: Any) -> None:
        """Connect a tensor, a list of tensors, or a value to a field."""
        _connect.connect_field(field.vertex, field.name, what, field.edge)

    def setFieldSize(self, field: FieldRef, size: int) -> None:
        """Set the number of edges, or of elements of a state vector."""
        _connect.set_size(field.vertex, field.name, size)

    def setPerfEstimate(self, vertex: VertexRef, cycles: float, flops: float = 0) -> None:
        """Set the number of cycles and operations of a vertex."""
        vertex.batch.estimates[vertex.number] = (float(cycles), float(flops))

    setCycleEstimate = setPerfEstimate

    def registerPerfEstimator(self, vertexType: str, estimator: Callable[..., Any]) -> None:
        """Register a function `(introspector, target)` that returns the cycles, or cycles and operations, of
        vertices."""
        self.contents.estimators[vertexType] = _estimates.of_user(estimator, self.getTarget())

    registerCycleEstimator = registerPerfEstimator

    def getMaxVertexFieldValue(self, vertexType: str, field: str) -> int:
        """The largest value that a plain member may hold."""
        return int(np.iinfo(self._field(vertexType, field).type.numpy_name).max)

    def getMaxFieldDim(self, vertexType: str, field: str, dim: int = 0) -> int:
        """The maximum length of a field. Only 32-bit counts limit it here."""
        self._field(vertexType, field)
        return 0xFFFFFFFF

    def _field(self, vertexType: str, field: str) -> Any:
        codelet = self.contents.codelets.get(vertexType)
        if codelet is None or field not in codelet.fields:
            raise UnknownVertexType(f"there is no field {field!r} of a vertex type {vertexType!r}")
        return codelet.fields[field]

    # -- host ---------------------------------------------------------------------------------------------------

    def createHostWrite(self, handle: str, tensor: Tensor, rearrangeOnHost: bool = False) -> None:
        """Name a tensor, so that the host can write it."""
        self.create_host_write(handle, tensor)

    def createHostRead(self, handle: str, tensor: Tensor, rearrangeOnHost: bool = False) -> None:
        """Name a tensor, so that the host can read it."""
        self.create_host_read(handle, tensor)

    def addHostToDeviceFIFO(
        self,
        handle: str,
        elementType: Type,
        numElements: int,
        replicatedMode: ReplicatedStreamMode = ReplicatedStreamMode.REPLICATE,
        options: Mapping[str, str] | None = None,
    ) -> DataStream:
        """Add a stream to the device."""
        _say_options(options)
        own = replicatedMode is ReplicatedStreamMode.REPLICATE
        return self.add_stream(
            DataStream(handle, elementType, int(numElements), True, own, dict(options or {}))
        )

    def addDeviceToHostFIFO(
        self, handle: str, elementType: Type, numElements: int, options: Mapping[str, str] | None = None
    ) -> DataStream:
        """Add a stream to the host."""
        _say_options(options)
        return self.add_stream(
            DataStream(handle, elementType, int(numElements), False, True, dict(options or {}))
        )

    def addRemoteBuffer(
        self,
        handle: str,
        elementType: Type,
        numElements: int,
        repeats: int = 1,
        rearrangeOnHost: bool = False,
        optimiseMemory: bool = False,
    ) -> RemoteBuffer:
        """Add a buffer in memory outside the chip: `repeats` rows of `numElements`."""
        return self.add_remote_buffer(
            RemoteBuffer(handle, elementType, int(numElements), int(repeats), rearrangeOnHost, optimiseMemory)
        )

    def addHostFunction(
        self, handle: str, inputs: Sequence[tuple[Type, int]], outputs: Sequence[tuple[Type, int]]
    ) -> HostFunction:
        """Add a host function that programs can call."""
        made = HostFunction(handle, tuple(inputs), tuple(outputs))
        self.contents.host_functions[handle] = made
        return made

    def addFunction(self, program: Program) -> Function:
        """Make a program callable from several places."""
        return self.add_function(program)

    # -- sizes --------------------------------------------------------------------------------------------------

    def getNumComputeSets(self) -> int:
        """The number of compute sets."""
        return len(self.contents.compute_sets)

    def getNumVars(self) -> int:
        """The number of variables."""
        return len(self.memory.variables)

    def getNumVertices(self, computeSet: ComputeSet | None = None) -> int:
        """The number of vertices, in total or in one compute set."""
        sets = self.contents.compute_sets if computeSet is None else [computeSet]
        return sum(batch.count for each in sets for batch in each.batches.values())

    def outputVertexGraph(self, stream: TextIO, progs: Program | Sequence[Program]) -> None:
        """Write the vertices that programs execute, with their variables, for Graphviz."""
        programs = [progs] if isinstance(progs, Program) else list(progs)
        stream.writelines(f"{line}\n" for line in dot.vertex_graph(self, programs))

    def outputComputeGraph(self, stream: TextIO, progs: Program | Sequence[Program]) -> None:
        """Write the steps of programs in their order, for Graphviz."""
        programs = [progs] if isinstance(progs, Program) else list(progs)
        stream.writelines(f"{line}\n" for line in dot.compute_graph(programs))

    if not TYPE_CHECKING:  # a misspelt name is a mistake that type checkers find

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_"):
                raise AttributeError(
                    f"this Graph has no {name!r}: docs/poplar.md lists what the Python interface offers"
                )
            raise AttributeError(name)


def _say_options(options: Mapping[str, str] | None) -> None:
    for name in options or {}:
        log.no_effect(
            f"The stream option {name}",
            "transfers pass in memory when a program runs; there is no buffer on a device",
        )


def _split(tiles: int, per_ipu: int) -> tuple[int, int]:
    ipus = max(1, -(-tiles // per_ipu))
    return (ipus, tiles // ipus) if tiles % ipus == 0 else (1, tiles)
