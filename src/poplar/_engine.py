"""`Engine`, with the names and argument orders of the C++ class; NumPy arrays take the place of pointers."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np

from tremula.frontends.poplar.errors import (
    ControlProgramError,
    ProfilingDisabled,
    StreamConnectionError,
    TensorIOStateError,
)
from tremula.frontends.poplar.estimate.look import look
from tremula.frontends.poplar.execute.engine import ProgramEngine
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.types import Type

from . import _study
from ._callbacks import LegacyStreamCallback, StreamCallback, served
from ._executable import Executable, compileGraph
from ._graph import Graph
from ._snake import with_snake_case
from ._target import Device


def _programs(given: Program | Sequence[Program] | None) -> list[Program]:
    if given is None:
        raise ControlProgramError("an engine needs a program, or a list of them")
    return [given] if isinstance(given, Program) else list(given)


@with_snake_case
class Engine:
    """Loads programs on a device and runs them.

    `Engine(graph, program)`, `Engine(graph, programs)` or `Engine(executable)`, each followed by the options.
    """

    def __init__(
        self,
        source: Graph | Executable,
        programs: Program | Sequence[Program] | Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        progressCallback: Callable[[int, int], None] | None = None,
        debugName: str = "",
    ) -> None:
        if isinstance(source, Executable):
            if isinstance(programs, Mapping):
                programs, options = None, programs
            if programs is not None:
                raise ControlProgramError("an executable has its programs: pass the options only")
            self._core = source.engine(dict(options or {}), progressCallback, debugName)
        else:
            if isinstance(programs, Mapping):
                raise ControlProgramError("an engine for a graph needs a program before the options")
            self._core = ProgramEngine(
                source, _programs(programs), dict(options or {}), progress=progressCallback, name=debugName
            )
        self._print_stream: TextIO | None = None
        self._profiling = True

    @property
    def core(self) -> ProgramEngine:
        """The engine behind these names."""
        return self._core

    # -- life ---------------------------------------------------------------------------------------------------

    def prepare(self, device: Device) -> None:
        """Prepare the engine for a device. This does nothing here, because engines are ready when they are created."""
        device.getTarget()

    def load(self, device: Device) -> None:
        """Load the programs on a device. All elements get their initial values."""
        _study.answer(self._core)
        self._core.load(device._present())
        self._device = device
        look(lambda: self._core.model, self._core.graph)

    def deploy(self) -> None:
        """Load the programs on the device that the engine was prepared for. `load` does this too."""
        if not self._core.loaded:
            raise ControlProgramError("deploy needs a device: call load")

    def loadAndRun(self, device: Device, prog: int = 0) -> None:
        """Load the programs and run one of them."""
        self.load(device)
        self.run(prog)

    def run(self, prog: int = 0, debugName: str = "") -> None:
        """Run a program."""
        self._core.run(int(prog), debugName)
        if not self._profiling:
            self._core.runs.pop()

    # -- host ---------------------------------------------------------------------------------------------------

    def connectStream(self, handle: str, data: Any, end: Any = None, replica: int | None = None) -> None:
        """Connect a stream to an array. The array is used as a circular buffer and not copied."""
        if end is not None:
            raise StreamConnectionError(
                f"stream {handle!r}: pass the array alone; its size says where it ends"
            )
        stream = self._core.stream(handle)
        array = _same_type(handle, stream.type, data)
        if not array.flags.c_contiguous:
            raise StreamConnectionError(
                f"stream {handle!r} needs an array whose elements lie side by side; "
                "numpy.ascontiguousarray makes one"
            )
        self._core.connect_ring(handle, memoryview(array.reshape(-1).view(np.uint8).data), replica)

    def connectStreamToCallback(self, handle: str, *callback: Any) -> None:
        """`connectStreamToCallback(handle, callback)` or `connectStreamToCallback(handle, replica, callback)`."""
        replica = int(callback[0]) if len(callback) > 1 else None
        self._core.connect_callback(handle, served(callback[-1], self._core.stream(handle)), replica)

    def writeTensor(self, handle: str, data: Any) -> None:
        """Write a tensor that `createHostWrite` named."""
        view = self._core.graph.contents.host_writes.get(handle)
        if view is not None:
            given = np.asarray(data)
            if given.dtype != view.type.host_dtype:
                if not _fits(given, view.type.host_dtype):
                    raise TensorIOStateError(
                        f"tensor {handle!r} is of type {view.type}, the array of type {given.dtype}"
                    )
                given = given.astype(view.type.host_dtype)
            data = np.ascontiguousarray(given)
        self._core.write_tensor(handle, _bytes_of(data))

    def readTensor(self, handle: str, out: Any = None) -> np.ndarray:
        """Read a tensor that `createHostRead` named into `out` or a new array, and return the array.

        With several replicas, the first dimension of a new array is that of the replicas.
        """
        view = self._core.graph.contents.host_reads.get(handle)
        if out is None and view is not None:
            replicas = self._core.graph.contents.replicas
            shape = tuple(view.shape) if replicas == 1 else (replicas, *view.shape)
            out = np.empty(shape, dtype=view.type.host_dtype)
        elif view is not None:
            out = _same_type(handle, view.type, out)
            if not out.flags.c_contiguous:
                raise TensorIOStateError(f"the array for tensor {handle!r} has gaps between its elements")
        self._core.read_tensor(handle, _bytes_of(out))
        return cast(np.ndarray, out)

    def copyToRemoteBuffer(
        self, data: Any, handle: str, repeatIndex: int = 0, replicationIndex: int = 0
    ) -> None:
        """Copy an array to a row of a remote buffer."""
        given = self._remote(handle, data)
        self._core.copy_to_remote_buffer(
            handle, _bytes_of(np.ascontiguousarray(given)), repeatIndex, replicationIndex
        )

    def copyFromRemoteBuffer(
        self, handle: str, data: Any, repeatIndex: int = 0, replicationIndex: int = 0
    ) -> None:
        """Copy a row of a remote buffer to an array."""
        given = self._remote(handle, data)
        self._core.copy_from_remote_buffer(handle, _bytes_of(given), repeatIndex, replicationIndex)

    def _remote(self, handle: str, data: Any) -> np.ndarray:
        buffer = self._core.graph.contents.remote_buffers.get(handle)
        return np.asarray(data) if buffer is None else _same_type(handle, buffer.type, data)

    def connectHostFunction(self, handle: str, *function: Any) -> None:
        """Connect a host function `(inputs, outputs)` of arrays. An index before the function is that of the
        callback."""
        self._core.connect_host_function(handle, function[-1])

    def setPrintStream(self, stream: TextIO) -> None:
        """Set the stream for messages of the program."""
        self.setPrintTensorStream(stream)

    def setPrintTensorStream(self, stream: TextIO) -> None:
        """Set the stream for PrintTensor; by default stderr."""
        self._core.set_print_stream(stream.write)

    # -- figures ------------------------------------------------------------------------------------------------

    def printProfileSummary(
        self, stream: TextIO | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        """Print the modelled figures of the graph and of the runs so far."""
        texts = {name: _text(value) for name, value in (options or {}).items()}
        print(self._core.summary(texts), file=stream)

    def getReport(self, reportExecution: bool = True) -> Any:
        """The profile of the runs so far, as `pva` reads it."""
        if not self._profiling and reportExecution and not self._core.runs:
            raise ProfilingDisabled("no run was recorded: enableExecutionProfiling before the run")
        import pva

        folder = tempfile.TemporaryDirectory(prefix="tremula-report-")
        path = self._core.model.write_profile(Path(folder.name), self._core.runs, execution=reportExecution)
        report = pva.openReport(path)
        weakref.finalize(report, folder.cleanup)
        return report

    def enableExecutionProfiling(self) -> None:
        """Record the following runs."""
        self._profiling = True

    def disableExecutionProfiling(self) -> None:
        """Do not record the following runs."""
        self._profiling = False

    def resetExecutionProfile(self) -> None:
        """Discard the recorded runs."""
        self._core.runs.clear()

    def reportTiming(self, stream: TextIO | None = None) -> None:
        """Print the host time for creating the engine."""
        print(f"Engine prepared in {self._core.compile_seconds:.3f} s (measured on this host)", file=stream)

    def getRuntimeOptions(self) -> dict[str, str]:
        """The effective options, including those of POPLAR_ENGINE_OPTIONS."""
        return dict(self._core.options.values)


def _fits(given: np.ndarray, dtype: np.dtype) -> bool:
    """Whether numbers may be written as another type: rounded, but not wrapped or cut."""
    if given.dtype.kind in "biu" and dtype.kind in "biu":
        return np.array_equal(given.astype(dtype), given)
    return np.can_cast(given.dtype, dtype, "same_kind")


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _same_type(handle: str, type: Type, data: Any) -> np.ndarray:
    """An array of the host's type for elements; another type is an error, as the bytes are used as they are."""
    if not isinstance(data, np.ndarray):
        raise StreamConnectionError(f"{handle!r} needs a NumPy array, not {data.__class__.__name__}")
    if data.dtype != type.host_dtype:
        raise StreamConnectionError(
            f"{handle!r} holds elements of type {type}, the array those of type {data.dtype}: "
            f"make it with dtype={type.host_dtype}"
        )
    return data


def _bytes_of(array: Any) -> memoryview:
    return memoryview(np.asarray(array).reshape(-1).view(np.uint8).data)


__all__ = ["Engine", "Executable", "LegacyStreamCallback", "StreamCallback", "compileGraph"]
