"""Sessions: compiled programs on a device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from popart._exceptions import popart_errors
from popart._executables import Executables
from popart._internal.ir._options import tell_effects
from tremula import log
from tremula.distributed import launch_environment
from tremula.frontends.popxl.identity import identity_of, take_variables, variables_of
from tremula.frontends.popxl.session import PopxlSession

from .device import DeviceInfo, device_of
from .ir import Ir
from .streams import DeviceToHostStream, HostToDeviceStream, Stream
from .tensor import Constant, HostScalarTensor, Tensor, Variable
from .utils import to_numpy

if TYPE_CHECKING:
    from tremula.frontends.sessions.executables import Identity
    from tremula.frontends.sessions.on_device import OnDevice

d2hStreamBufferMaps = Mapping[DeviceToHostStream, np.ndarray]
h2dStreamBufferMaps = Mapping[HostToDeviceStream, HostScalarTensor]
StreamBufferMaps = d2hStreamBufferMaps | h2dStreamBufferMaps


class _PbSession(Executables):
    """The part of PopART's session that programs use below a PopXL session."""

    _name = "popxl"

    def __init__(self, session: Session) -> None:
        self._session = session
        self._options = session.ir._pb_ir.getSessionOptions()

    @property
    def _on_device(self) -> OnDevice | None:  # type: ignore[override]
        return self._session._program.on_device

    @property
    def _device_type(self) -> Any:
        return self._session._device.type

    @property
    def _is_prepared(self) -> bool:
        return self._on_device is not None

    def _compile(self, loadEngine: bool) -> None:
        """Compile, or take the program that the cache has."""
        with popart_errors():
            self._find_executable()
            options = {name: str(value) for name, value in self._options.engineOptions.items()}
            self._session._program.compile(options, kept=self._from_executable)
            self._keep_executable(f"PopXL program of {self._session.ir}")

    def _identity(self) -> Identity:
        ir = self._session.ir._pb_ir
        return identity_of(ir, {"IPUs": self._session._device.numIpus, **self._options._of_program()})

    def _variables(self) -> dict[str, Any]:
        variables = self._session.ir.main_graph.variables
        if self._session.is_attached and any(not each.in_sync_with_ipu for each in variables):
            self._session.weights_to_host()
        return variables_of(self._session.ir._pb_ir)

    def _take_variables(self, values: Mapping[str, Any], path: str) -> None:
        take_variables(self._session.ir._pb_ir, values, path)
        if self._session.is_attached:
            self._session.weights_from_host()

    def writeWeights(self, weights: Any) -> None:
        """Set weights by identifier, on the host only."""
        values = getattr(weights, "weights", None) or getattr(weights, "_weights", weights)
        for identifier, value in values.items():
            tensor = self._session.ir._pb_ir.getTensor(identifier)
            tensor.data[...] = np.asarray(value).reshape(tensor.data.shape)

    def weightsFromHost(self) -> None:
        """Copy the host's weights to the device."""
        self._session.weights_from_host()

    def getReport(self) -> Any:
        """The profile, as `pva` reads it: there is none."""
        raise NotImplementedError("Reports of PopXL sessions are not available.")


class Session:
    """A compiled IR on a device. Inside `with session:` it is attached, and variables are on the device."""

    def __init__(self, ir: Ir, device_desc: Any = "cpu", weights_to_host_on_exit: bool = True) -> None:
        self.ir_ = ir
        self.weights_to_host_on_exit = weights_to_host_on_exit and not ir._has_read_only_memmap
        if weights_to_host_on_exit and ir._has_read_only_memmap:
            log.info_once(
                "popxl memmap", "PopXL: variables are not copied back, as one of them is a read-only memmap."
            )
        options = ir._pb_ir.getSessionOptions()
        tell_effects(options)
        ir._pb_ir.strided_groups = bool(options.groupNormStridedChannelGrouping)
        ir._pb_ir.checks_log2_scale = bool(options.throwIfLog2ScaleTensorNotInRange)
        self._pb_session = _PbSession(self)
        self._inputs, self._outputs = ir.get_all_h2d_streams(), ir.get_all_d2h_streams()
        self._attached_before: list[Any] = []
        ir._take_share()
        self._program = PopxlSession(ir._pb_ir)
        self._device: DeviceInfo = device_of(
            device_desc, self._program, self._get_ipu_count(), _reserved_device(ir)
        )
        self._compiled_for = _kind_of(self._device)
        self._pb_session._compile(loadEngine=False)
        ir._pb_ir.prepared = True
        ir._write_dot("Final")
        if self.is_attached:
            self.weights_from_host()

    # -- running ------------------------------------------------------------------------------------------

    def run_with_outputs(
        self,
        inputs: h2dStreamBufferMaps | None = None,
        outputs: d2hStreamBufferMaps | None = None,
        downcast_inputs: bool = True,
    ) -> None:
        """Run the program once, on arrays for its streams; `outputs` are written to."""
        self._assert_attached_before_runtime()
        given = {
            stream: _host_array(stream, value, downcast_inputs) for stream, value in (inputs or {}).items()
        }
        outputs = outputs or {}
        self._validate_run_inputs(given)
        self._validate_run_outputs(outputs)
        self._program.run(
            {stream.tensor_id: array for stream, array in given.items()},
            {stream.tensor_id: array for stream, array in outputs.items()},
        )
        self._mark_variables(in_sync=False)

    def run(
        self, inputs: h2dStreamBufferMaps | None = None, downcast_inputs: bool = True
    ) -> d2hStreamBufferMaps:
        """Run the program once, and return the data of its output streams."""
        self._assert_attached_before_runtime()
        outputs = self.create_host_outputs()
        self.run_with_outputs(inputs, outputs, downcast_inputs)
        return outputs

    def create_host_outputs(self) -> dict[DeviceToHostStream, np.ndarray]:
        """Create arrays for the output streams of one run."""
        return {
            stream: np.zeros(self._full_input_shape(stream.shape), dtype=stream.dtype.as_numpy())
            for stream in self._expected_outputs()
        }

    def expected_inputs(self) -> list[HostToDeviceStream]:
        """The streams that a run needs arrays for."""
        return list(self._inputs)

    def _expected_outputs(self) -> list[DeviceToHostStream]:
        return list(self._outputs)

    def _assert_attached_before_runtime(self) -> None:
        if not self.is_attached:
            raise ValueError("The session must be attached to a device: call this inside `with session:`.")

    @property
    def _extra_input_dims(self) -> tuple[int, ...]:
        counts = (self.ir.num_host_transfers, self.ir.instance_replication_factor)
        return tuple(count for count in counts if count > 1)

    def _full_input_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._extra_input_dims + tuple(shape)

    def _validate(self, given: Mapping[Stream, np.ndarray], expected: Iterable[Stream], what: str) -> None:
        unexpected, missing = set(given) - set(expected), set(expected) - set(given)
        if unexpected or missing:
            raise ValueError(
                f"Unexpected/Missing {what}.\n  Unexpected: {sorted(map(str, unexpected))}\n"
                f"  Missing: {sorted(map(str, missing))}"
            )
        for stream, array in given.items():
            self._verify_io_shape(stream, array, what)

    def _validate_run_inputs(self, inputs: Mapping[Any, np.ndarray]) -> None:
        self._validate(inputs, self.expected_inputs(), "input")

    def _validate_run_outputs(self, outputs: Mapping[Any, np.ndarray]) -> None:
        self._validate(outputs, self._expected_outputs(), "output")

    def _verify_io_shape(self, stream: Stream, array: np.ndarray, what: str) -> None:
        full = self._full_input_shape(stream.shape)
        if array.shape == full:
            return
        transfers, replicas = self.ir.num_host_transfers, self.ir.instance_replication_factor
        if array.size == int(np.prod(full, dtype=np.int64)) and array.squeeze().shape == tuple(
            each for each in full if each != 1
        ):
            return
        rest = array.shape
        if transfers > 1:
            if not rest or rest[0] < transfers:
                raise ValueError(
                    f"Dimension 0 of the array for the {what} stream {stream.tensor_id} is not large enough: it must "
                    f"be num_host_transfers = {transfers}, and the shape is {array.shape}."
                )
            rest = rest[1:]
        if replicas > 1:
            if not rest or rest[0] != replicas:
                raise ValueError(
                    f"Dimension {len(array.shape) - len(rest)} of the array for the {what} stream {stream.tensor_id} "
                    f"is the wrong size: it must be instance_replication_factor = {replicas}, the replicas of this "
                    f"instance, and the shape is {array.shape}."
                )
            rest = rest[1:]
        raise ValueError(
            f"Shape mismatch for {what} stream {stream.tensor_id}: stream shape = {stream.shape}, so an array of "
            f"{full} is expected. Got array shape = {array.shape}"
        )

    # -- variables ----------------------------------------------------------------------------------------

    def weights_to_host(self) -> None:
        """Copy all variables from the device to the host."""
        self._assert_attached_before_runtime()
        self._program.save()
        self._mark_variables(in_sync=True)
        for each in self.ir.main_graph.variables:
            each._flush_data_if_memmap()

    def weights_from_host(self) -> None:
        """Copy all variables from the host to the device."""
        self._assert_attached_before_runtime()
        self._program.load()
        self._mark_variables(in_sync=True)

    def _mark_variables(self, *, in_sync: bool) -> None:
        for each in self._program.program.variables:
            each.in_sync = in_sync  # type: ignore[attr-defined]

    def get_tensor_data(self, tensor: Variable | Constant) -> np.ndarray:
        """The value of a variable or constant."""
        return self.get_tensors_data([tensor])[tensor]

    def get_tensors_data(self, tensors: Iterable[Variable | Constant]) -> dict[Tensor, np.ndarray]:
        """The values of variables and constants, from the device if that is newer."""
        tensors = list(tensors)
        for each in tensors:
            if not isinstance(each, Variable | Constant):
                raise TypeError(
                    f"Tensor {each} is not of type Constant or Variable, and has no value on the host."
                )
        outdated = any(isinstance(each, Variable) and not each.in_sync_with_ipu for each in tensors)
        if outdated and self.is_attached:
            self.weights_to_host()
        elif outdated:
            log.warn_once(
                "popxl stale variables",
                "PopXL: the host's variables are older than the device's: the session is not attached any more.",
            )
        return {each: self._host_value(each) for each in tensors}

    def _host_value(self, tensor: Variable | Constant) -> np.ndarray:
        if isinstance(tensor, Variable) and tensor._memmap_arr is not None:
            return tensor._memmap_arr
        return np.array(tensor._pb_tensor.data, copy=True)

    def write_variable_data(self, tensor: Variable, data: HostScalarTensor) -> None:
        """Set the value of a variable."""
        self.write_variables_data({tensor: data})

    def write_variables_data(self, tensors: Mapping[Variable, HostScalarTensor]) -> None:
        """Set the values of variables, on the device as well if the session is attached."""
        arrays = {tensor: self._checked(tensor, data) for tensor, data in tensors.items()}
        if self.is_attached and any(not each.in_sync_with_ipu for each in self.ir.main_graph.variables):
            self.weights_to_host()
        for tensor, array in arrays.items():
            tensor._pb_tensor.data[...] = array
        if self.is_attached:
            self.weights_from_host()

    def _checked(self, tensor: Variable, data: HostScalarTensor) -> np.ndarray:
        if not isinstance(tensor, Variable):
            raise TypeError(
                f"Tensor {getattr(tensor, 'id', tensor)} is not of type Variable, and cannot be written."
            )
        float8 = tensor.dtype.name.startswith("float8")
        if isinstance(data, int | float | np.number):
            if float8:
                raise TypeError(
                    f"A number cannot be written to {tensor.id}, which has {tensor.dtype}: give an array, as of "
                    "popxl.utils.host_pow2scale_cast_to_fp8."
                )
            data = np.asarray(data, tensor.dtype.as_numpy())
        array = to_numpy(data, tensor.dtype if float8 else None, copy=False)
        if array.dtype != tensor.dtype.as_numpy():
            raise TypeError(f"The data has the type {array.dtype}, but {tensor.id} has {tensor.dtype}.")
        expected = tensor._pb_tensor.data.shape
        if array.shape != expected:
            raise ValueError(
                f"The data has the shape {array.shape}, but {tensor.id} has {expected} on the host."
            )
        if tensor.retrieval_mode == "all_replicas" and tensor.replica_grouping.group_size > 1:
            raise NotImplementedError(f"{tensor.id} is read from all replicas, and cannot be written.")
        return array

    # -- device -------------------------------------------------------------------------------------------

    @property
    def ir(self) -> Ir:
        """The IR that is compiled."""
        return self.ir_

    @property
    def is_attached(self) -> bool:
        """Whether a device is attached."""
        attached = self._device.isAttached
        return attached() if callable(attached) else bool(attached)

    def _set_device(self, device: DeviceInfo) -> None:
        self._device = device

    def _check_device(self) -> None:
        """Refuse a device of another kind or size than the program was compiled for."""
        now = _kind_of(self._device)
        if now != self._compiled_for:
            raise RuntimeError(
                f"The session was compiled for {self._compiled_for[1]} IPU(s) of {self._compiled_for[0]}, and cannot "
                f"run on {now[1]} of {now[0]}."
            )

    def _get_ipus_per_replica(self) -> int:
        found = {ipu for graph in self.ir._pb_ir.reachable() for ipu in graph.getAllVirtualGraphIds(True)}
        if not found:
            raise RuntimeError(f"{self.ir} has no ops, and nothing to run.")
        return max(found) + 1

    def _get_ipu_count(self) -> int:
        needed = self._get_ipus_per_replica() * self.ir.instance_replication_factor
        return 1 << (needed - 1).bit_length()

    def __enter__(self) -> Session:
        before = self.is_attached
        self._attached_before.append(before)
        if not before:
            self._check_device()
            self._device.attach()
            if not self.is_attached:
                raise RuntimeError(f"The device {self._device} could not be attached: it is in use.")
            try:
                self.weights_from_host()
            except BaseException:
                self._attached_before.pop()
                self._device.detach()
                raise
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, exc_tb: Any) -> None:
        if self._attached_before.pop() or not self.is_attached:
            return
        if exc_type is None and self.weights_to_host_on_exit:
            self.weights_to_host()
        self._device.detach()


def _reserved_device(ir: Ir) -> int | None:
    """The device that the launcher reserved for this instance of a distributed program."""
    if not ir._use_popdist:
        return None
    import popdist

    return None if launch_environment.node_device() is None else popdist.getDeviceId()


def _kind_of(device: DeviceInfo) -> tuple[str, int]:
    """Kind and number of IPUs of a device. A CPU counts as an IPU model."""
    kind = str(getattr(device.type, "name", device.type))
    return {"Cpu": "IpuModel"}.get(kind, kind), int(device.numIpus)


def _host_array(stream: Stream, value: HostScalarTensor, downcast: bool) -> np.ndarray:
    float8 = stream.dtype.name.startswith("float8")
    if float8:
        return to_numpy(value, stream.dtype, copy=False)
    array = to_numpy(value, downcast=downcast, copy=False)
    wanted = stream.dtype.as_numpy()
    if array.dtype != wanted:
        if not np.can_cast(array.dtype, wanted, "same_kind") and not (array.dtype.kind == wanted.kind):
            raise TypeError(f"The array for {stream} has the type {array.dtype}, the stream {wanted}.")
        array = array.astype(wanted)
    return array
