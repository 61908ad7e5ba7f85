"""`PoplarExecutor`, what `trainingModel` and `inferenceModel` return: drives `tremula.device` and a torch session. The
device's weights are copies: uploaded at compilation or attachment, and downloaded when they are read.
"""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from tremula import log
from tremula.device import counters
from tremula.device.lifecycle import DeviceProgram
from tremula.distributed import independent_models
from tremula.errors import Error
from tremula.execute.outputs import returned_turns
from tremula.execute.settings import ReplicaGrouping
from tremula.frontends.torch.capture.explain import located
from tremula.frontends.torch.data import wait_time
from tremula.frontends.torch.dialect import program_log
from tremula.frontends.torch.dialect.device_words import DEVICE_LAYER, WORDS
from tremula.frontends.torch.session import Session
from tremula.frontends.torch.settings import SessionSettings
from tremula.invariants import present
from tremula.program.source import user_line
from tremula.telemetry import ledger

from . import (
    _args_parser,
    _capture_call,
    _compile_steps,
    _executable_file,
    _executor_options,
    _impl,
    _lost_wrapper,
    _printing,
    _session_settings,
    optim,
    profiling,
)
from ._capture_call import (
    _OverwriteContextManager,
    as_device,
    registerPostCompileHook,
    registerPreCompileHook,
)
from ._device_optimizer import DeviceOptimizer
from ._host_weights import GroupableParameter, HostWeights
from ._logging import logger
from ._steady_call import SteadyCall
from ._wrapping import CONVERSIONS, Wrapping, plain_class, returns_plain_module, unwrap_model
from .options import Options

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun
    from tremula.program.op import SourceLine

__all__ = [
    "NO_EXECUTABLE_ERR",
    "PoplarExecutor",
    "_OverwriteContextManager",
    "registerPostCompileHook",
    "registerPreCompileHook",
]

ledger.count_data_wait(lambda: (wait_time.waited_seconds(), wait_time.items()))

NO_EXECUTABLE_ERR = WORDS.not_compiled

_BACKWARD_ERR = (
    "backward() cannot be called explicitly on outputs of a PopTorch model. A call of a trainingModel has already "
    "run the backward pass and updated the weights: remove backward() and optimizer.step(). An inferenceModel has "
    "no backward pass: wrap the module with trainingModel to train it."
)


def _backward_refused(*_args: Any, **_kwargs: Any) -> None:
    raise located(_impl.createPoptorchError(_BACKWARD_ERR), user_line())


class PoplarExecutor:
    """A wrapped model. Create one with `trainingModel` or `inferenceModel`."""

    _precompile_hooks = _capture_call.PRECOMPILE_HOOKS
    _postcompile_hooks = _capture_call.POSTCOMPILE_HOOKS

    def __init__(
        self,
        model: torch.nn.Module,
        options: Options | None,
        training: bool,
        poptorch_version: str,
        optimizer: torch.optim.Optimizer | None = None,
        user_model: torch.nn.Module | None = None,
    ) -> None:
        # `model` is called and may be a wrapper of ours; `user_model` is what the user handed over.
        self._user_model = user_model or model
        self._model = model
        self._options = _executor_options.own_options(options)
        self._training = training
        #: the method that last returned the module in the place of this object, and where it was called
        self._module_returned: tuple[str, SourceLine | None] = ("", None)
        self._poptorch_version = poptorch_version
        if optimizer is not None and not training:
            raise AssertionError("an inference model has no optimizer")
        _executor_options.resolve_output_modes(self._options, training)
        # Before the module changes class: afterwards its forward would be a wrapper's.
        self._args_parser = _args_parser.ArgsParser(model)
        self._executable_inputs: _args_parser.ArgsParser.Args | None = None
        self._steady: SteadyCall | None = None
        self._anchor_memory: dict[str, torch.Tensor] = {}
        self.per_replica_params: dict[str, tuple[Any, int, Any]] = {}
        label = plain_class(self._user_model).__name__
        settings = _session_settings.device_settings(self._options, training, label)
        bar = self._options._progress_bar if self._options._show_compilation_progress_bar else None
        self._device: DeviceProgram[Session] = DeviceProgram(settings, WORDS, bar)
        self._profiling = profiling.Channel(f"poptorch.{settings.kind}")
        self._profiling.instrument(
            self, "copyWeightsToHost", "copyWeightsToDevice", "setOptimizer", "compile", "destroy"
        )
        self._weights = HostWeights(model)
        self._trainer = DeviceOptimizer(self._options, self._weights, self._device) if training else None
        if training:
            self.setOptimizer(optimizer or optim.SGD(self._user_model.parameters(), lr=0.01))
        self._options._freeze()
        if training:
            self._wrapping = Wrapping(self)
            self.PoptorchParameter = self._wrapping.parameter_class
            self.PoptorchBuffer = self._wrapping.buffer_class
            self._wrapping.put_on(self._user_model)
            processes = self._options.Distributed.numProcesses
            independent_models.add_model(
                label,
                processes,
                self._options.replication_factor,
                advice="options = popdist.poptorch.Options()  # instead of poptorch.Options()",
            )

    # -- looking at it -----------------------------------------------------------------------------------

    @property
    def model(self) -> torch.nn.Module:
        """The user's module."""
        return self._user_model

    @property
    def options(self) -> Options:
        """The (frozen) options."""
        return self._options

    @property
    def training(self) -> bool:
        """Whether `forward` of the user's module runs in training mode, as on any module."""
        return self._user_model.training if isinstance(self._user_model, torch.nn.Module) else self._training

    @property
    def _session(self) -> Session | None:
        return self._device.program

    _executable = _session

    @property
    def _modelled(self) -> ModelledRun | None:
        return self._device.modelled

    @property
    def _ledger(self) -> ledger.Entry:
        return self._device.ledger

    @property
    def _optimizer(self) -> torch.optim.Optimizer | None:
        return None if self._trainer is None else self._trainer.optimizer

    @property
    def _host_weights_version(self) -> int:
        return self._weights.version

    def __repr__(self) -> str:
        return _printing.module_repr(self._user_model)

    def __getattr__(self, attr: str) -> Any:
        if attr == "_user_model":  # not set yet, as in a half-built object
            raise AttributeError(attr)
        value = getattr(self._user_model, attr)
        if attr in CONVERSIONS and isinstance(self._user_model, torch.nn.Module):
            return returns_plain_module(value)
        if attr in _lost_wrapper.RETURN_THE_MODULE and isinstance(self._user_model, torch.nn.Module):
            return _lost_wrapper.returns_module(self, value)
        if isinstance(value, torch.nn.Parameter):
            return GroupableParameter(value, attr, self.per_replica_params)
        return value

    def __del__(self) -> None:
        if "_wrapping" in self.__dict__ or not self.__dict__.get("_training", True):  # not half-built
            _lost_wrapper.collected(self)

    def isCompiled(self) -> bool:
        """Whether there is a compiled program."""
        return self._device.program is not None

    def isAttachedToDevice(self) -> bool:
        """Whether the program is loaded on a device."""
        return self._device.attached

    @property
    def _is_attached(self) -> bool:
        return self._device.attached

    def _compiled(self) -> Session:
        return self._device.compiled

    # -- weights and optimizer -----------------------------------------------------------------------------

    def copyWeightsToHostIfNeeded(self) -> bool:
        """Copy the weights to the host if a training call has changed them. Returns whether it copied them."""
        if not self._weights.outdated:
            return False
        logger.debug("Implicit copyWeightsToHost()")
        self.copyWeightsToHost()
        return True

    def copyWeightsToHost(self) -> None:
        """Copy parameters and buffers from the device into the user's module."""
        self._weights.to_host(self._compiled().executable)

    def copyWeightsToDevice(self) -> None:
        """Copy parameters and buffers from the user's module to the device."""
        session = self._compiled()
        self._weights.outdated = False
        if self._optimizer is not None:
            self._optimizer.state_dict()
        log.layer(DEVICE_LAYER).debug("Writing weights from host to IPU memory")
        self._weights.to_device(session.executable)

    def copyNamedBuffersToDevice(self) -> None:
        """Copy the buffers named with `Options.updatableNamedBuffers` to the device."""
        session = self._compiled()
        names = self._options._Popart.options.get("updatableNamedBuffers")
        if names is None:
            raise _impl.createPoptorchError(
                "this model was compiled without updatable named buffers: list them with "
                "poptorch.Options().updatableNamedBuffers([...]) before compilation."
            )
        self._weights.to_device(session.executable, names)

    def load_state_dict(self, state_dict: Mapping[str, torch.Tensor], strict: bool = True) -> Any:
        """Load a checkpoint into the user's module and, if attached, into the device."""
        result = self._user_model.load_state_dict(state_dict, strict)
        if self.isAttachedToDevice():
            logger.debug("load_state_dict: implicit copyWeightsToDevice()")
            self.copyWeightsToDevice()
        return result

    def setOptimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Use `optimizer`, or the changed values of the one in use, from the next call on."""
        if self._trainer is None:
            raise _impl.createPoptorchError("An optimizer can only be set on a training model.")
        self._trainer.set(optimizer)
        if self.isAttachedToDevice():
            self._trainer.write_values()
            self._trainer.write(self.copyWeightsToHostIfNeeded)

    def _optimizer_spec(self) -> Any:
        return None if self._trainer is None else self._trainer.spec()

    # -- compiling ---------------------------------------------------------------------------------------

    def _subject(self, *args: Any, **kwargs: Any) -> object:
        """This model with the arguments of a call, for `tremula.ask`."""
        from ._study import subject_of

        return subject_of(self, *args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile for these arguments (those of `forward`) without running."""
        bound = self._args_parser(args, kwargs, False)
        if self.isCompiled():
            logger.warning(
                "compile() has no effect: this model is already compiled; call destroy() first to compile it again"
            )
            return
        self._compile(bound, ahead=self._device.settings.cache_folder is not None)

    def _compile(
        self,
        bound: Any,
        restore: Callable[[list[torch.Tensor]], Session] | None = None,
        *,
        ahead: bool = False,
    ) -> None:
        """Compile for `bound`, or load what `restore` makes for a micro-batch of it; `ahead`: fill the cache, too."""
        with self._profiling.tracepoint("modelCompilation"):
            self._device.compile(_compile_steps.compile_steps(self, bound, restore), ahead=ahead)

    def _session_settings(self) -> SessionSettings:
        label = self._device.settings.label
        return _session_settings.session_settings(self._options, self._training, self._groupings(), label)

    def _micro_batch(self, bound: Any) -> tuple[list[torch.Tensor], Callable[[list[torch.Tensor]], Any]]:
        """One micro-batch of the inputs in device dtypes, and how to call the model with its tensors."""
        return _capture_call.micro_batch_of(bound, _session_settings.loops_of(self._options), self._model)

    def _ready_for_capture(self) -> Any:
        """While inside, the model is a plain one, with what extensions and the strategy do around a capture."""
        return _capture_call.ready_for_capture(
            self._model, self._user_model, self._options._execution_strategy
        )

    def _groupings(self) -> dict[str, ReplicaGrouping]:
        return _session_settings.groupings_of(self._model, self._options, self.per_replica_params)

    # -- device ------------------------------------------------------------------------------------------

    def _load_state(self) -> None:
        self.copyWeightsToDevice()
        if self._trainer is not None:
            self._trainer.load(self.copyWeightsToHostIfNeeded)

    def _save_state(self) -> None:
        if self._trainer is not None:
            self.copyWeightsToHostIfNeeded()
            self._trainer.read()

    def attachToDevice(self) -> None:
        """Load the compiled program on a device again."""
        self._compiled()
        if self._device.settings.offline:
            raise AssertionError(WORDS.offline)
        self._device.attach(self._load_state)

    def detachFromDevice(self) -> None:
        """Detach from the device after reading weights, optimizer state and random state from it."""
        self._device.detach(self._save_state)

    def destroy(self) -> None:
        """Release the device and the program. A training model's module is unwrapped, its weights up to date."""
        self._steady = None  # it holds the program
        if not self.isCompiled():
            return
        if self._training:
            self.copyWeightsToHostIfNeeded()
            if self._optimizer is not None:
                self._optimizer.state_dict()
        self._device.destroy()
        if not self._training:
            return
        if not _impl.isWrapped(self._user_model):
            raise _impl.createPoptorchError(
                "this module is no longer wrapped: was it destroyed through another executor?"
            )
        unwrap_model(self._user_model, remember=False)

    # -- running -----------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one combined batch; compiles on the first call."""
        started = perf_counter()
        device, steady = self._device, self._steady
        if (
            steady is None
            or steady.session is not device.program
            or not device.attached
            or (tensors := steady.recognised(args, kwargs)) is None
        ):
            steady, tensors, given = self._admit(args, kwargs)
        else:
            if not self._training:
                self._follow_training()
            given = steady.as_device(tensors)
        trainer = self._trainer
        with device.whole_call:
            if trainer is not None:
                trainer.write(self.copyWeightsToHostIfNeeded)
            device.about_to_run()
            with self._profiling.tracepoint("modelExecution"):
                outputs, anchors = steady.run(tensors, given, synthetic=self._synthetic)
            if anchors:
                self._anchor_memory.update(zip(self._options.anchored_tensors, anchors, strict=True))
            for output in outputs:
                output.backward = _backward_refused  # type: ignore[method-assign]
            device.ran(tensors, outputs, started)
            if trainer is not None:
                self._weights.outdated = True
                trainer.stepped()
        return steady.as_returned(outputs)

    def _admit(self, args: Any, kwargs: Any) -> tuple[SteadyCall, list[torch.Tensor], list[torch.Tensor]]:
        """The long way of a call: compile or attach if need be, check every argument; returns the quick way for later
        calls, the tensors, and these as the device takes them.
        """
        if self._device.settings.offline:
            raise AssertionError(
                "Trying to run a model on an offline device (ConnectionType.Never): use model.compile(inputs) instead "
                "of model(inputs)"
            )
        bound = self._args_parser(args, kwargs, self.isCompiled())
        if not self.isCompiled():
            self._compile(bound)
        if not self.isAttachedToDevice():
            self.attachToDevice()
        if not self._training:
            self._follow_training()
        session = self._compiled()
        compiled_for = present(self._executable_inputs, "the arguments of the compiled program")
        try:
            compiled_for.validateInputs(bound)
        except Error as error:
            raise located(error, user_line()) from None
        if self._steady is None or self._steady.session is not session:
            self._steady = SteadyCall(session, compiled_for)
        self._steady.learn(self._args_parser, args, kwargs)
        tensors = list(bound.asPackedFlatTuple(compiled_for))
        return self._steady, tensors, [as_device(tensor) for tensor in tensors]

    @functools.cached_property
    def _synthetic(self) -> bool:
        return bool(int(self._options._Popart.options.get("syntheticDataMode", 0)))  # frozen, as all options

    def _follow_training(self) -> None:
        """Take over weights that a training model of the same module has produced meanwhile."""
        model: Any = self._user_model
        # asked of the class: a module that lacks an attribute looks for it in several places first
        if not hasattr(type(model), "copyWeightsToHostIfNeeded"):
            return
        model.copyWeightsToHostIfNeeded()
        version = model._host_weights_version
        if self._weights.version != version:
            logger.debug("Implicit copyWeightsToDevice()")
            self.copyWeightsToDevice()
            self._weights.version = version

    # -- files -------------------------------------------------------------------------------------------

    def save(self, filename: str, export_model: bool = True, save_rng_state: bool = True) -> None:
        """Write the compiled model to a file; with `export_model`, model, weights and optimizer too.

        Args:
            filename: the file, or a folder for `model.poptorch`; missing folders are made.
            export_model: False leaves the model out: such a file is for `loadExecutable` only.
            save_rng_state: also keep the state of the random number generators.
        """
        _executable_file.save(self, filename, export_model, save_rng_state)

    def compileAndExport(self, filename: str, *args: Any, export_model: bool = True, **kwargs: Any) -> None:
        """Compile for these arguments (those of `forward`) and `save`."""
        self.compile(*args, **kwargs)
        self.save(filename, export_model)

    def loadExecutable(self, filename: str) -> None:
        """Load the compiled program of a file for a model of the same structure."""
        _executable_file.load_executable(self, filename)

    # -- queries -----------------------------------------------------------------------------------------

    @property
    def rng_state(self) -> list[int] | None:
        """Seed and state of the device's random number generators; before the first run the seed, if one is set."""
        return self._device.random_words

    @rng_state.setter
    def rng_state(self, state: list[int]) -> None:
        self._device.random_words = state

    def getTensorNames(self) -> list[str]:
        """Names of all tensors of the compiled program."""
        if not self.isCompiled():
            raise AssertionError("Model must be compiled before calling getTensorNames")
        return self._compiled().tensor_names()

    def getAnchoredTensor(self, short_name: str) -> torch.Tensor:
        """Value of a tensor anchored with `Options.anchorTensor`, from the last call."""
        if short_name not in self._anchor_memory:
            raise AssertionError(
                f"No tensor with name {short_name} found: anchor it with Options.anchorTensor and run the model"
            )
        return self._anchor_memory[short_name]

    def _debugGetPopartIR(self) -> str:
        return json.dumps(program_log.program_as_ir(self._compiled()), separators=(",", ":"))

    def cycleCount(self) -> int:
        """Modelled cycles of a call: all device iterations, without the time on the host."""
        if not self._options._Popart.options["instrumentWithHardwareCycleCounter"]:
            raise _impl.createPoptorchError(
                "Cycle count logging is disabled. Please set option logCycleCount to True to enable."
            )
        if not self.isCompiled() or not self._device.calls:
            raise _impl.createPoptorchError(
                "Please run the model at least once before obtaining cycle count."
            )
        return self._device.cycles()

    def compilationTime(self) -> datetime.timedelta:
        """How long the compilation took on this host."""
        if not self.isCompiled():
            raise _impl.createPoptorchError("Please compile the model before obtaining compilation time.")
        if not self._options._show_compilation_progress_bar:
            raise _impl.createPoptorchError(
                "Please set showCompilationProgressBar option to obtain compilation time."
            )
        return datetime.timedelta(seconds=self._device.compile_seconds)

    def getPerfCounters(self) -> dict[str, list[list[float]]]:
        """Times (seconds) of the transfers of the last call, per event, tensor and transfer.

        They are modelled, and count from the beginning of the call; without the chip model (TREMULA_CHIP_MODEL=off)
        they are those of the host's clock.
        """
        if not self.isCompiled():
            return counters.no_ticks()
        session = self._compiled()
        program = session.program
        returned = None
        if self._device.calls and not self._synthetic:  # synthetic data is not transferred
            returned = returned_turns(session.settings.outputs, program.loops)
        return self._device.perf_counters(
            len(program.interface.inputs), len(program.interface.outputs), returned
        )

    def getLatency(self) -> counters.Latency:
        """(least, most, mean) seconds from the request of the inputs to the last output, modelled."""
        return counters.latency(self.getPerfCounters(), "input", min, "output_complete", max)

    def getHostIpuLatency(self) -> counters.Latency:
        """(least, most, mean) seconds for the inputs to arrive, modelled."""
        return counters.latency(self.getPerfCounters(), "input", min, "input_complete", max)

    def getComputeLatency(self) -> counters.Latency:
        """(least, most, mean) seconds from the last input to the last output, modelled."""
        return counters.latency(self.getPerfCounters(), "input_complete", max, "output", max)

    def getIpuHostLatency(self) -> counters.Latency:
        """(least, most, mean) seconds for the outputs to arrive, modelled."""
        return counters.latency(self.getPerfCounters(), "output", min, "output_complete", max)
