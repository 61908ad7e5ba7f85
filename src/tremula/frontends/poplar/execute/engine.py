"""The engine: a graph with programs, checked and prepared once, loaded on a device and run.

`docs/poplar.md` says what is checked and when. Numbers are computed here; cycles, memory and profiles are those of the
chip model (`estimate`), which is made only when somebody asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tremula import log
from tremula.frontends.poplar.devices import Device
from tremula.frontends.poplar.errors import (
    ControlProgramError,
    NoSuchStream,
    PoplarError,
    TensorIOStateError,
)
from tremula.frontends.poplar.execute import values
from tremula.frontends.poplar.execute.control import Lowered, Lowering
from tremula.frontends.poplar.execute.figures import Figures
from tremula.frontends.poplar.execute.loaded import Host, HostFunctionCode, Loaded
from tremula.frontends.poplar.execute.metering import RunMeter
from tremula.frontends.poplar.execute.options import EngineOptions
from tremula.frontends.poplar.execute.preparation import Preparation, Progress
from tremula.frontends.poplar.execute.remote import RemoteBuffers
from tremula.frontends.poplar.execute.runs import ProgramRun
from tremula.frontends.poplar.execute.streams import HostEnds, StreamCallback
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program.endpoints import DataStream
from tremula.frontends.poplar.program.numbering import Numbering, number
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.target import TargetKind

if TYPE_CHECKING:
    from tremula.frontends.poplar.estimate.model import ChipModel

#: bytes, or an array of the tensor's host type
HostData = memoryview | NDArray[Any]
#: different counts of runs that are remembered to be shared
_MOST_SEEN = 1000


class ProgramEngine:
    """Programs of a graph, ready to be loaded and run."""

    def __init__(
        self,
        graph: Graph,
        programs: Sequence[Program],
        options: Mapping[str, str] | None = None,
        *,
        program_names: Sequence[str] = (),
        progress: Progress | None = None,
        name: str = "",
        prepared: Preparation | None = None,
    ) -> None:
        """Check and prepare the programs. Raises errors of the front end, which name what is wrong and where.

        `prepared` is what another engine made of the same graph and programs.
        """
        started = time.perf_counter()
        self.graph = graph
        self.name = name
        self.options = EngineOptions(options or {})
        self.programs = tuple(programs)
        self.program_names = tuple(program_names)
        self.runs: list[ProgramRun] = []
        #: most runs do the same: their counts are kept once
        self._seen: dict[tuple[int, ...], BlockCounts] = {}
        self._meter = RunMeter(name, graph.contents.target.ipus)
        with self._meter.compiling():
            self.prepared = prepared or Preparation(graph, number(self.programs), progress)
        self.numbering: Numbering = self.prepared.numbering
        contents = graph.contents
        prefetches = self.options.is_on("exchange.enablePrefetch", default=True)
        self._host = Host(
            HostEnds(contents.replicas, prefetches), RemoteBuffers(contents.remote_buffers, contents.replicas)
        )
        self._loaded: Loaded | None = None
        self._lowered: Lowered | None = None
        self._device: Device | None = None
        self.compile_seconds = time.perf_counter() - started
        self._figures = Figures(self._chip_model, self.options)
        self._figures.look()

    # -- life ---------------------------------------------------------------------------------------------------

    def load(self, device: Device) -> None:
        """Put the programs on a device; all elements get their initial values."""
        self._check_device(device)
        if not device.attach():
            raise PoplarError(
                f"device {device.id} cannot be attached: another program holds it; `gc-monitor` shows which"
            )
        arenas = [self.prepared.arena(replica) for replica in range(self.graph.contents.replicas)]
        self._seen.clear()
        loaded = Loaded(arenas, self._host, self.prepared.machine, lambda: self.model.leaf_cycles())
        self._lowered = Lowering(loaded, self.prepared.compute_sets, self.numbering).all()
        self._loaded, self._device = loaded, device
        self._meter.attached(device)
        log.layer("PO:ENGINE").info("Loaded %d programs on device %d", len(self.programs), device.id)

    @property
    def loaded(self) -> bool:
        """Whether the programs are on a device."""
        return self._loaded is not None

    def run(self, program: int = 0, name: str = "") -> None:
        """Run one of the programs."""
        loaded, lowered = self._loaded, self._lowered
        if loaded is None or lowered is None or self._device is None:
            raise PoplarError("the engine has no device: call load before run")
        if not self._device.attached:
            raise PoplarError(
                f"device {self._device.id} was detached after the load: attach it and load again"
            )
        if not 0 <= program < len(lowered.programs):
            raise ControlProgramError(
                f"the engine has {len(lowered.programs)} programs, so none with number {program}"
            )
        log.layer("PO:ENGINE").debug("Running program %d %s", program, name)
        before = list(loaded.counts)
        loaded.active = loaded.everyone
        with self._meter.running():
            lowered.programs[program]()
        self._record(program, name, before)

    def _record(self, program: int, name: str, before: Sequence[int]) -> None:
        loaded, lowered = self._loaded, self._lowered
        if loaded is None or lowered is None:
            return
        ran = tuple([now - then for now, then in zip(loaded.counts, before, strict=True)])
        executions = self._seen.get(ran)
        if executions is None:
            if len(self._seen) >= _MOST_SEEN:
                self._seen.clear()
            executions = self._seen[ran] = BlockCounts(lowered.blocks, ran)
        self.runs.append(ProgramRun(program, name, executions))
        self._figures.ran(self.runs)

    def close(self) -> None:
        """Give everything back but the device, which is the user's."""
        self._host.ends.close()
        self._loaded = self._lowered = None

    def _check_device(self, device: Device) -> None:
        wanted, given = self.graph.contents.target, device.target
        if wanted.kind is TargetKind.CPU:
            fits = given.kind is TargetKind.CPU
        else:
            fits = given.kind is not TargetKind.CPU and wanted.tiles <= given.tiles
        if not fits:
            raise PoplarError(
                f"the graph was made for {wanted.ipus} IPUs with {wanted.tiles_per_ipu} tiles each "
                f"({wanted.kind.name}), the device has {given.ipus} with {given.tiles_per_ipu} ({given.kind.name}): "
                "make the graph with the device's target"
            )

    # -- host ---------------------------------------------------------------------------------------------------

    def write_tensor(self, handle: str, data: HostData) -> None:
        """Write a tensor that has a handle for it: one tensor for all replicas, or one for each in order."""
        view, loaded = self._connected(handle, self.graph.contents.host_writes, "createHostWrite")
        given = self._host_array(handle, view, data)
        for replica, arena in enumerate(loaded.arenas):
            values.writer(view, arena)(given[min(replica, len(given) - 1)])

    def read_tensor(self, handle: str, out: HostData) -> None:
        """Read a tensor that has a handle for it, from the first replica, or from all in order if there is room."""
        view, loaded = self._connected(handle, self.graph.contents.host_reads, "createHostRead")
        target = self._host_array(handle, view, out)
        for replica, space in enumerate(target):
            np.copyto(space, values.reader(view, loaded.arenas[replica])().reshape(-1), casting="unsafe")

    def _connected(self, handle: str, views: Mapping[str, View], how: str) -> tuple[View, Loaded]:
        if handle not in views:
            known = ", ".join(sorted(views)) or "none"
            raise NoSuchStream(f"no tensor has the handle {handle!r}: call {how}; handles so far: {known}")
        if self._loaded is None:
            raise TensorIOStateError(f"tensor {handle!r} cannot be reached: load the engine first")
        return views[handle], self._loaded

    def _host_array(self, handle: str, view: View, data: HostData) -> NDArray[Any]:
        """The host's data as one row for each replica, or one for all."""
        raw = np.frombuffer(data, dtype=np.uint8)
        dtype = view.type.host_dtype
        size = view.elements * dtype.itemsize
        replicas = self.graph.contents.replicas
        if raw.nbytes not in (size, replicas * size):
            several = f", or {replicas * size} for {replicas} replicas" if replicas > 1 else ""
            raise TensorIOStateError(
                f"tensor {handle!r} has {size} bytes ({view.elements} elements of type {view.type}){several}; "
                f"the host's data have {raw.nbytes}"
            )
        return raw.view(dtype).reshape(raw.nbytes // size if size else 1, view.elements)

    def stream(self, handle: str) -> DataStream:
        """The stream of a handle; an unknown one is an error that lists those that there are."""
        found = self.graph.contents.streams.get(handle)
        if found is None:
            known = ", ".join(sorted(self.graph.contents.streams)) or "none"
            raise NoSuchStream(f"there is no stream {handle!r}; those of the graph: {known}")
        return found

    def connect_ring(self, handle: str, data: memoryview, replica: int | None = None) -> None:
        """Let the transfers of a stream go from or to a circular buffer, which is not copied."""
        self._host.ends.connect_ring(self.stream(handle), data, replica)

    def connect_callback(self, handle: str, callback: StreamCallback, replica: int | None = None) -> None:
        """Let a callback serve the transfers of a stream."""
        self._host.ends.connect_callback(self.stream(handle), callback, replica)

    def copy_to_remote_buffer(self, handle: str, data: HostData, row: int = 0, replica: int = 0) -> None:
        """Copy from the host to a row of a remote buffer."""
        self._host.buffers.copy_in(handle, data, row, replica)

    def copy_from_remote_buffer(self, handle: str, data: HostData, row: int = 0, replica: int = 0) -> None:
        """Copy a row of a remote buffer to the host."""
        self._host.buffers.copy_out(handle, data, row, replica)

    def connect_host_function(self, handle: str, function: HostFunctionCode) -> None:
        """Let programs call a function of the host with the arrays of its inputs and outputs."""
        if handle not in self.graph.contents.host_functions:
            raise NoSuchStream(f"there is no host function {handle!r}: call addHostFunction")
        self._host.functions[handle] = function

    def set_print_stream(self, write: Callable[[str], object]) -> None:
        """Where PrintTensor prints; by default stderr."""
        self._host.print = write

    # -- chip model ---------------------------------------------------------------------------------------------

    @property
    def model(self) -> ChipModel:
        """The chip model's view of the programs, made when first asked for."""
        return self._figures.model

    def _chip_model(self) -> ChipModel:
        from tremula.frontends.poplar.estimate.model import ChipModel

        return ChipModel(
            self.graph,
            self.numbering,
            name=self.name,
            program_names=self.program_names,
            options=self.options.values,
        )

    def summary(self, options: Mapping[str, str] | None = None) -> str:
        """The text of printProfileSummary for all runs so far."""
        return self.model.summary(self.runs, options or {})


class BlockCounts(Mapping[int, int]):
    """How often each node ran, kept as how often its block did."""

    def __init__(self, blocks: Mapping[int, int], counts: Sequence[int]) -> None:
        self._blocks, self._counts = blocks, counts

    def __getitem__(self, node: int) -> int:
        return self._counts[self._blocks[node]]

    def __iter__(self) -> Iterator[int]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)
