"""`PoplarExecutor`: the object that `trainingModel` and `inferenceModel` return.

What it does when it is called, and what can be asked of it afterwards. Its state is in `_executor_state`,
compiling and devices in `_executor_compile`.
"""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch

from tremula import log
from tremula.errors import Error
from tremula.execute.executable import TurnTimes
from tremula.execute.outputs import returned_turns
from tremula.frontends.torch.capture.explain import located
from tremula.frontends.torch.execute.whole import op_count
from tremula.frontends.torch.optimize.adopt import mark_stepped
from tremula.frontends.torch.session import Session
from tremula.program.source import user_line

from . import _counters, _device_log, _executable_file, _impl, enums, optim
from ._executor_compile import CompilingExecutor, _OverwriteContextManager, as_device
from ._executor_state import NO_EXECUTABLE_ERR
from ._logging import logger
from ._steady_call import SteadyCall

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
        started = perf_counter()
        steady = self._steady
        if (
            steady is None
            or steady.session is not self._session
            or not self.isAttachedToDevice()
            or (tensors := steady.recognised(args, kwargs)) is None
        ):
            steady, tensors, given = self._admit(args, kwargs)
        else:
            if not self._training:
                self._follow_training()
            given = steady.as_device(tensors)
        if self._training:
            self._write_optimizer_state_if_needed()
        assert self._attachment is not None
        self._attachment.about_to_run()
        with self._profiling.tracepoint("modelExecution"):
            outputs, anchors = self._run(steady, tensors, given)
        if anchors:
            self._anchor_memory.update(zip(self._options.anchored_tensors, anchors, strict=True))
        for output in outputs:
            output.backward = _backward_refused
        self._after_run(tensors, outputs, started)
        return steady.as_returned(outputs)

    def _admit(self, args: Any, kwargs: Any) -> tuple[SteadyCall, list[torch.Tensor], list[torch.Tensor]]:
        """The long way of a call: compile or attach if need be, check every argument.

        Returns:
            What later calls like this one need not do again, the tensors, and these as the device takes them.
        """
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
        session = self._compiled()
        compiled_for = self._executable_inputs
        assert compiled_for is not None
        try:
            compiled_for.validateInputs(bound)
        except Error as error:
            raise located(error, user_line()) from None
        if self._steady is None or self._steady.session is not session:
            self._steady = SteadyCall(session, compiled_for)
        self._steady.learn(self._args_parser, args, kwargs)
        tensors = list(bound.asPackedFlatTuple(compiled_for))
        return self._steady, tensors, [as_device(tensor) for tensor in tensors]

    def _run(
        self, steady: SteadyCall, tensors: list[torch.Tensor], given: list[torch.Tensor]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        if self._synthetic:  # nothing travels between host and device
            outputs, anchors = steady.session.run([_synthetic(tensor) for tensor in given])
            return [torch.zeros_like(output) for output in outputs], anchors
        outputs, anchors = steady.session.run(given)
        for index in steady.mutated_inputs:
            if given[index] is not tensors[index]:
                with torch.no_grad():
                    tensors[index].copy_(given[index])
        return outputs, anchors

    @functools.cached_property
    def _counts_cycles(self) -> bool:
        """Whether each run is to log its cycles."""
        wanted = self._options._Popart.options["instrumentWithHardwareCycleCounter"]
        return bool(wanted) and self._modelled is not None

    @functools.cached_property
    def _synthetic(self) -> bool:
        mode = self._options._Popart.options.get(
            "syntheticDataMode", 0
        )  # frozen, as all options of an executor
        return bool(int(mode))

    def _after_run(self, tensors: list[torch.Tensor], outputs: list[torch.Tensor], started: float) -> None:
        samples = tensors[0].shape[0] if tensors and tensors[0].dim() else 1
        seconds = perf_counter() - started
        self._ledger.executed(1, samples, seconds)
        if self._meter is not None:
            self._meter.called(seconds, samples, tensors, outputs)
        if not self._calls_since_compile:
            self._ledger.first_call(samples, seconds)
            log.layer("tremula").info("%s: first call in %.2f s", self._label, seconds)
        self._calls_since_compile += 1
        if self._counts_cycles:
            log.layer("poptorch:cpp").info("Total number of IPU cycles: %d", self.cycleCount())
        self._random_words = None
        if self._training:
            self._dirty_host_weights = True
            optimizer = self._optimizer
            if isinstance(optimizer, optim.Optimizer):
                optimizer.host_state_is_dirty = True
            if optimizer is not None:
                mark_stepped(optimizer)

    def _follow_training(self) -> None:
        """Take over weights that a training model of the same module has produced meanwhile."""
        model = self._user_model
        # asked of the class: a module that lacks an attribute looks for it in several places first
        if not hasattr(type(model), "copyWeightsToHostIfNeeded"):
            return
        model.copyWeightsToHostIfNeeded()
        version = model._host_weights_version
        if self._host_weights_version != version:
            logger.debug("Implicit copyWeightsToDevice()")
            self.copyWeightsToDevice()
            self._host_weights_version = version

    # -- what is written down about it ---------------------------------------------------------------------

    def _compile(self, *args: Any, **kwargs: Any) -> None:
        super()._compile(*args, **kwargs)
        self._ledger.follow(self._compiled().executable.choice.report)

    def _capture(self, *args: Any, **kwargs: Any) -> Session:
        started = perf_counter()
        session = super()._capture(*args, **kwargs)
        seconds = perf_counter() - started
        self._ledger.captured(seconds)
        program = session.program
        graphs = [graph for graph in (program.step, program.accumulate, program.update) if graph is not None]
        log.layer("tremula").info(
            "%s: captured in %.2f s (%d ops)", self._label, seconds, sum(map(op_count, graphs))
        )
        return session

    @property
    def _label(self) -> str:
        return f"{self._ledger.kind} {self._ledger.model}"

    def destroy(self) -> None:
        """Release the device and the program. A training model's module is unwrapped, its weights up to date."""
        self._steady = None  # it holds the program
        super().destroy()

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
        """Modelled cycles of a call: all of its device iterations, without the host's part."""
        if not self._options._Popart.options["instrumentWithHardwareCycleCounter"]:
            raise _impl.createPoptorchError(
                "Cycle count logging is disabled. Please set option logCycleCount to True to enable."
            )
        if not self.isCompiled() or not self._calls_since_compile:
            raise _impl.createPoptorchError(
                "Please run the model at least once before obtaining cycle count."
            )
        modelled = self._modelled
        if modelled is None:
            raise _impl.createPoptorchError(
                "Cycles are modelled, and TREMULA_CHIP_MODEL=off turns the model off. Unset it to get them."
            )
        found = modelled.estimate
        log.info_once(
            "modelled cycles",
            f"cycleCount() is modelled for {found.chip.title}, not measured; times on hardware were {found.time_band}",
        )
        return modelled.cycles_per_call()

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
        """Times (seconds) of the transfers of the last call, per event, tensor and transfer.

        They are modelled, and count from the beginning of the call; without the chip model (TREMULA_CHIP_MODEL=off)
        they are those of the host's clock.
        """
        if self._session is None:
            return _counters.no_ticks()
        program = self._session.program
        counted = self._calls_since_compile and not self._synthetic  # synthetic data is not transferred
        times = self._session.executable.times if counted else TurnTimes()
        tensors = len(program.interface.inputs), len(program.interface.outputs)
        returned = returned_turns(self._session.settings.outputs, program.loops) if counted else 0
        modelled = self._modelled
        if modelled is None:
            return _counters.ticks(times, *tensors, returned)
        return _counters.modelled_ticks(modelled.turn_time(), len(times.started), *tensors, returned)

    def getLatency(self) -> _counters.Latency:
        """(least, most, mean) seconds from the request of the inputs to the last output, modelled."""
        return _counters.latency(self.getPerfCounters(), "input", min, "output_complete", max)

    def getHostIpuLatency(self) -> _counters.Latency:
        """(least, most, mean) seconds for the inputs to arrive, modelled."""
        return _counters.latency(self.getPerfCounters(), "input", min, "input_complete", max)

    def getComputeLatency(self) -> _counters.Latency:
        """(least, most, mean) seconds from the last input to the last output, modelled."""
        return _counters.latency(self.getPerfCounters(), "input_complete", max, "output", max)

    def getIpuHostLatency(self) -> _counters.Latency:
        """(least, most, mean) seconds for the outputs to arrive, modelled."""
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
