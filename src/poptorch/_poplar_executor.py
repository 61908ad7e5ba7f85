"""`PoplarExecutor`: the object that `trainingModel` and `inferenceModel` return.

What it does when it is called, and what can be asked of it afterwards. Its state is in `_executor_state`,
compiling and devices in `_executor_compile`.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from tremula import log
from tremula.capture.explain import located
from tremula.errors import Error
from tremula.execute.executable import TurnTimes
from tremula.execute.outputs import returned_turns
from tremula.machine.modelled import not_modelled_cycles
from tremula.optimize.adopt import mark_stepped
from tremula.program.source import user_line
from tremula.program.structure import reconstructTensorStructure
from tremula.session import Session

from . import _counters, _device_log, _executable_file, _impl, enums, optim
from ._executor_compile import CompilingExecutor, _OverwriteContextManager, as_device
from ._executor_state import NO_EXECUTABLE_ERR
from ._logging import logger

__all__ = [
    "NO_EXECUTABLE_ERR",
    "PoplarExecutor",
    "_OverwriteContextManager",
    "registerPostCompileHook",
    "registerPreCompileHook",
]

_BACKWARD_ERR = (
    "backward() cannot be called explicitly on outputs of a PopTorch model. A call of a trainingModel has already "
    "run the backward pass and updated the weights: remove backward() and optimizer.step(). An inferenceModel has "
    "no backward pass: wrap the module with trainingModel to train it."
)


def _backward_refused(*_args: Any, **_kwargs: Any) -> None:
    raise located(_impl.createPoptorchError(_BACKWARD_ERR), user_line())


class PoplarExecutor(CompilingExecutor):
    """A model wrapped for the device. Use `trainingModel` or `inferenceModel` to make one."""

    # -- running -----------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one combined batch; compiles on the first call."""
        assert self._options.connection_type != enums.ConnectionType.Never, (
            "Trying to run a model on an offline device (ConnectionType.Never): use model.compile(inputs) instead "
            "of model(inputs)"
        )
        bound = self._args_parser(args, kwargs, self.isCompiled())
        if self._session is None:
            self._compile(bound)
        if not self.isAttachedToDevice():
            self.attachToDevice()
        if not self._training:
            self._follow_training()
        assert self._executable_inputs is not None
        session = self._compiled()
        self._check_inputs(bound)
        tensors = bound.asPackedFlatTuple(self._executable_inputs)
        if self._training:
            self._write_optimizer_state_if_needed()
        with self._profiling.tracepoint("modelExecution"):
            outputs, anchors = self._run(session, tensors)
        for short, value in zip(self._options.anchored_tensors, anchors, strict=True):
            self._anchor_memory[short] = value
        self._after_run(tensors)
        return self._as_returned(session, outputs)

    def _check_inputs(self, bound: Any) -> None:
        assert self._executable_inputs is not None
        try:
            self._executable_inputs.validateInputs(bound)
        except Error as error:
            raise located(error, user_line()) from None

    def _run(self, session: Session, tensors: Iterable[torch.Tensor]) -> Any:
        originals = list(tensors)
        if self._synthetic:
            given = [_synthetic(as_device(tensor)) for tensor in originals]
        else:
            given = [as_device(tensor) for tensor in originals]
        outputs, anchors = session.run(given)
        for index in session.program.mutated_inputs:
            if given[index] is not originals[index] and not self._synthetic:
                with torch.no_grad():
                    originals[index].copy_(given[index])
        if self._synthetic:
            outputs = [torch.zeros_like(output) for output in outputs]
        return outputs, anchors

    @property
    def _synthetic(self) -> bool:
        mode = self._options._Popart.options.get("syntheticDataMode", 0)
        return bool(int(mode))

    def _after_run(self, tensors: tuple[torch.Tensor, ...]) -> None:
        self._calls_since_compile += 1
        first = tensors[0] if tensors else None
        self._ledger.executed(samples=first.shape[0] if first is not None and first.dim() else 1)
        self._random_words = None
        if self._training:
            self._dirty_host_weights = True
            if isinstance(self._optimizer, optim.Optimizer):
                self._optimizer.host_state_is_dirty = True
            if self._optimizer is not None:
                mark_stepped(self._optimizer)

    def _follow_training(self) -> None:
        """Take over weights that a training model of the same module has produced meanwhile."""
        update = getattr(self._user_model, "copyWeightsToHostIfNeeded", None)
        if not callable(update):
            return
        update()
        version = self._user_model._host_weights_version
        if self._host_weights_version != version:
            logger.debug("Implicit copyWeightsToDevice()")
            self.copyWeightsToDevice()
            self._host_weights_version = version  # type: ignore[assignment]

    def _as_returned(self, session: Session, outputs: list[torch.Tensor]) -> Any:
        for output in outputs:
            output.backward = _backward_refused  # type: ignore[method-assign]
        if session.result is None:
            return None
        return reconstructTensorStructure(
            session.result, outputs, lambda tensor: isinstance(tensor, FakeTensor)
        )

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
        """Take over the compiled program of a file, for a model of the same structure."""
        _executable_file.load_executable(self, filename)

    # -- queries -----------------------------------------------------------------------------------------

    @property
    def rng_state(self) -> list[int] | None:
        """Seed and state of the device's random number generators; before the first run the seed, if one is set."""
        session = self._compiled()
        if self._random_words is None and self._calls_since_compile:
            log.layer("poptorch:cpp").debug("Reading random seed")
            log.layer("poptorch:cpp").debug("Reading RNG state")
            self._random_words = session.executable.random.words()
        return self._random_words

    @rng_state.setter
    def rng_state(self, state: list[int]) -> None:
        session = self._compiled()
        self._random_words = list(state)
        if self.isAttachedToDevice():
            self._write_random_state(session, self._random_words)

    def _write_random_state(self, session: Session, words: list[int]) -> None:
        log.layer("poptorch:cpp").debug("Setting random seed to %d", words[0])
        if len(words) > 1:
            log.layer("poptorch:cpp").debug("Setting RNG state")
        session.executable.random.restore(words)

    def getTensorNames(self) -> list[str]:
        """Names of all tensors of the compiled program."""
        assert self._session is not None, "Model must be compiled before calling getTensorNames"
        return self._session.tensor_names()

    def getAnchoredTensor(self, short_name: str) -> torch.Tensor:
        """Value of a tensor anchored with `Options.anchorTensor`, from the last call."""
        assert short_name in self._anchor_memory, (
            f"No tensor with name {short_name} found: anchor it with Options.anchorTensor and run the model"
        )
        return self._anchor_memory[short_name]

    def _debugGetPopartIR(self) -> str:
        return json.dumps(_device_log.program_as_ir(self._compiled()), separators=(",", ":"))

    def cycleCount(self) -> int:
        """Cycles of the last call. Not modelled yet: 0, with a warning."""
        if not self._options._Popart.options["instrumentWithHardwareCycleCounter"]:
            raise _impl.createPoptorchError(
                "Cycle count logging is disabled. Please set option logCycleCount to True to enable."
            )
        if not self.isCompiled() or not self._calls_since_compile:
            raise _impl.createPoptorchError(
                "Please run the model at least once before obtaining cycle count."
            )
        return not_modelled_cycles("PoplarExecutor.cycleCount")

    def compilationTime(self) -> datetime.timedelta:
        """How long the compilation took on this host."""
        if not self.isCompiled():
            raise _impl.createPoptorchError("Please compile the model before obtaining compilation time.")
        if not self._options._show_compilation_progress_bar:
            raise _impl.createPoptorchError(
                "Please set showCompilationProgressBar option to obtain compilation time."
            )
        return datetime.timedelta(seconds=self._compile_seconds)

    def getPerfCounters(self) -> dict[str, list[list[float]]]:
        """Host times (seconds) of the transfers of the last call, per event, tensor and transfer."""
        if self._session is None:
            return _counters.no_ticks()
        program = self._session.program
        counted = self._calls_since_compile and not self._synthetic  # synthetic data is not transferred
        return _counters.ticks(
            self._session.executable.times if counted else TurnTimes(),
            len(program.interface.inputs),
            len(program.interface.outputs),
            returned_turns(self._session.settings.outputs, program.loops) if counted else 0,
        )

    def getLatency(self) -> _counters.Latency:
        """(least, most, mean) host seconds from the request of the inputs to the last output."""
        return _counters.latency(self.getPerfCounters(), "input", min, "output_complete", max)

    def getHostIpuLatency(self) -> _counters.Latency:
        """(least, most, mean) host seconds for the inputs to arrive."""
        return _counters.latency(self.getPerfCounters(), "input", min, "input_complete", max)

    def getComputeLatency(self) -> _counters.Latency:
        """(least, most, mean) host seconds from the last input to the last output."""
        return _counters.latency(self.getPerfCounters(), "input_complete", max, "output", max)

    def getIpuHostLatency(self) -> _counters.Latency:
        """(least, most, mean) host seconds for the outputs to arrive."""
        return _counters.latency(self.getPerfCounters(), "output", min, "output_complete", max)


def _synthetic(tensor: torch.Tensor) -> torch.Tensor:
    """Data that never left the host: random for floating point, zeros otherwise."""
    return torch.randn_like(tensor) if tensor.is_floating_point() else torch.zeros_like(tensor)


def _register(hooks: dict[int, Callable[[], Any]], hook: Callable[[], Any]) -> Any:
    handle = torch.utils.hooks.RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def registerPreCompileHook(hook: Callable[[], Any]) -> Any:
    """Call `hook()` before every compilation; the handle that is returned takes it off again."""
    if not callable(hook):
        raise RuntimeError("Pre-compile hook must be callable")
    return _register(PoplarExecutor._precompile_hooks, hook)


def registerPostCompileHook(hook: Callable[[], Any]) -> Any:
    """Call `hook()` after every compilation; the handle that is returned takes it off again."""
    if not callable(hook):
        raise RuntimeError("Post-compile hook must be callable")
    return _register(PoplarExecutor._postcompile_hooks, hook)
