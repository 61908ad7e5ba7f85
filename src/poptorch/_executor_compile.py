"""Compiling a wrapped model, and its life on a device: acquire, attach, detach, destroy."""

from __future__ import annotations

import collections
import contextlib
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tremula import log
from tremula.cache.keys import key_of
from tremula.cache.store import Store
from tremula.cache.trust import usable_root
from tremula.errors import Error
from tremula.frontends.torch.dtypes import device_dtype
from tremula.frontends.torch.execute.device_state import ReplicaGrouping
from tremula.frontends.torch.session import Session
from tremula.frontends.torch.structure import flattenTensorStructure, reconstructTensorStructure
from tremula.machine import attach, systems
from tremula.machine.attach import Attachment
from tremula.program.source import user_line
from tremula.program.stages import StageSummary
from tremula.settings.environment import env
from tremula.study.listeners import is_asked

from . import (
    _deployment,
    _device_log,
    _impl,
    _metering,
    _profile,
    _session_settings,
    enums,
    optim,
    poptorch_core,
)
from ._executor_state import ExecutorState
from ._logging import logger
from ._wrapping import unwrap_model
from .options import Options


class _OverwriteContextManager:
    """Lets extensions replace functions while a model is captured (the spelling below is the public one)."""

    _substitution_managers: list[type] = []

    def __enter__(self) -> _OverwriteContextManager:
        self._active = [kind() for kind in self._substitution_managers]
        for manager in self._active:
            manager.replace()
        return self

    def __exit__(self, *_error: object) -> None:
        for manager in reversed(self._active):
            manager.restore()

    @classmethod
    def registerSubsitutionManager(cls, type: type) -> None:
        """Use `type()`, which has `replace()` and `restore()`, around every capture from now on."""
        if type not in cls._substitution_managers:
            cls._substitution_managers.append(type)


class CompilingExecutor(ExecutorState):
    """An executor that can compile its model and hold a device."""

    _precompile_hooks: dict[int, Callable[[], Any]] = collections.OrderedDict()
    _postcompile_hooks: dict[int, Callable[[], Any]] = collections.OrderedDict()

    # -- compiling ---------------------------------------------------------------------------------------

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile for these arguments (those of `forward`) without running."""
        bound = self._args_parser(args, kwargs, False)
        if self.isCompiled():
            logger.warning(
                "compile() does nothing here: this model is compiled already; destroy() it first to compile anew"
            )
            return
        self._compile(bound, ahead=_session_settings.cache_folder(self._options) is not None)

    def _compile(
        self,
        bound: Any,
        restore: Callable[[list[torch.Tensor]], Session] | None = None,
        *,
        ahead: bool = False,
    ) -> None:
        """Compile for `bound`, or load what `restore` makes for one micro-batch of it.

        With `ahead`, compiled code is in the cache when this returns.
        """
        try:
            if restore is None and is_asked():
                self._tell(bound)
            self._compile_and_load(bound, restore, ahead)
            self._look()
        except BaseException as problem:
            if isinstance(problem, Exception):  # who is stopped has not failed
                self._ledger.failed()
            if self._attachment is not None:
                self._attachment.detach()
            raise

    def _compile_and_load(
        self, bound: Any, restore: Callable[[list[torch.Tensor]], Session] | None, ahead: bool
    ) -> None:
        options = self._options
        started = time.perf_counter()
        with self._profiling.tracepoint("modelCompilation"), _progress(options) as advance:
            _device_log.compilation_begins()
            poptorch_core._validateOptions(options.toDict())
            options._report_options_without_effect()
            micro_batch, rebuild = self._micro_batch(bound)
            advance(10)
            if restore is None:
                session = self._capture(bound, micro_batch, rebuild, advance)
            else:
                session = restore(micro_batch)
                self._acquire(session.stages())
            _device_log.captured()
            if ahead or session.executable.choice.waits:
                with _distributed_compilation(options, self._model):
                    session.executable.prepare(micro_batch, lambda share: advance(40 + int(55 * share)))
            _device_log.compiled(session)
            advance(100)
        self._executable_inputs = bound.clone()
        self._session = session
        self._calls_since_compile = 0
        self._compile_seconds = time.perf_counter() - started
        self._ledger.compiled(self._compile_seconds, self._ipus_used(session.stages()))
        if options.connection_type != enums.ConnectionType.Never:
            self._attach()

    def _micro_batch(self, bound: Any) -> tuple[list[torch.Tensor], Callable[[list[torch.Tensor]], Any]]:
        """One micro-batch of the inputs in device dtypes, and how to call the model with its tensors."""
        structure = bound.clone()
        structure.forEach(self._one_micro_batch)
        structure.forEach(_without_gradient)
        nested = (structure.args, structure.kwargs)
        tensors = flattenTensorStructure(nested)

        def call(values: list[torch.Tensor]) -> Any:
            args, kwargs = reconstructTensorStructure(nested, values)
            return self._model(*args, **kwargs)

        return [as_device(tensor) for tensor in tensors], call

    def _one_micro_batch(self, tensor: torch.Tensor) -> torch.Tensor:
        loops = _session_settings.loops_of(self._options)
        if tensor.numel() == 0:
            raise Error(
                f"Zero-sized tensors are unsupported (Got shape {list(tensor.shape)}).",
                type="poptorch_cpp_error",
            )
        size = tensor.shape[0] if tensor.dim() else 1
        assert size % loops.factor == 0, (
            f"Invalid batch dimension: In the input {tensor.shape}, the batch dimension ({size}) must be a multiple "
            f"of Options.deviceIterations({loops.device_iterations}) * "
            f"(Options.replicationFactor({loops.replicas}) / "
            f"Options.inputReplicaGrouping.input_group_size({loops.input_group_size})) * "
            f"Options.Training.gradientAccumulation({loops.gradient_accumulation}) = {loops.factor}: one call takes "
            f"a combined batch. {loops.factor - size % loops.factor} more samples, or {size % loops.factor} fewer, "
            "would make it one; a remainder at the end of an epoch is dropped with DataLoader(drop_last=True)."
        )
        return tensor if tensor.dim() == 0 else tensor.narrow(0, 0, size // loops.factor)

    def _capture(self, bound: Any, micro_batch: list[torch.Tensor], call: Any, advance: Any) -> Session:
        label = _impl._wrapping.plain_class(self._user_model).__name__
        settings = _session_settings.session_settings(self._options, self._training, self._groupings(), label)
        self._check_updatable_buffers()
        spec = self._optimizer_spec() if self._training else None
        session = Session(settings, spec)
        names = ["input" if not i else f"input/{i}" for i in range(len(micro_batch))]
        advance(20)
        with self._ready_for_capture():
            session.compile(self._model, call, micro_batch, names, flattenTensorStructure, self._acquire)
        advance(40)
        return session

    @contextlib.contextmanager
    def _ready_for_capture(self) -> Iterator[None]:
        """While inside, the model is a plain one, with what extensions and the strategy do around a capture."""
        strategy = self._options._execution_strategy
        unwrap_model(self._model)
        unwrap_model(self._user_model)
        try:
            with _OverwriteContextManager():
                for hook in list(self._precompile_hooks.values()):
                    hook()
                strategy.onStartTracing()
                try:
                    yield
                finally:
                    strategy.onEndTracing()
                    for hook in list(self._postcompile_hooks.values()):
                        hook()
        finally:
            _impl.rewrapModelIfNecessary(self._model)
            _impl.rewrapModelIfNecessary(self._user_model)

    def _subject(self, *args: Any, **kwargs: Any) -> object:
        """This model with the arguments of a call, for `tremula.ask`."""
        from ._study import subject_of

        return subject_of(self, *args, **kwargs)

    def _tell(self, bound: Any) -> None:
        """Answer who asks about this model: `tremula estimate run`, or TREMULA_ESTIMATE."""
        # here, for it takes a moment and most programs do without
        from ._study import answer

        answer(self, bound)

    def _look(self) -> None:
        """Have the chip model look at the program, unless it is off; it may refuse one that would not fit.

        Others who wait for the same compilation need not wait for this.
        """
        self._modelled = None
        if env.get("TREMULA_CHIP_MODEL") == "off":
            _profile.chip_model_is_off(self._options)
            return
        # here, for it takes a moment and `import poptorch` does without
        from tremula.device.chip_model import ModelledRun
        from tremula.frontends.torch.rules.program import program_of

        session = self._compiled()
        deployment = _deployment.deployment_of(self._options, session.stages(), self._training)
        program = _deployment.of_all_instances(session.program, self._options)
        self._modelled = ModelledRun(
            lambda: program_of(program, deployment.lowering),
            deployment,
            replicas=program.loops.replicas,
            ops=sum(1 for _ in program.nodes()),
        )
        label = _impl._wrapping.plain_class(self._user_model).__name__
        profile = _profile.write(self._options, self._modelled, self._training, label)
        try:
            self._modelled.look_at_compilation(
                allow_out_of_memory=_deployment.allows_out_of_memory(self._options), profile=profile
            )
        except Error:
            self._session = self._modelled = None
            raise
        self._ledger.foreseen(self._modelled.brief())

    def _groupings(self) -> dict[str, ReplicaGrouping]:
        parameters = dict(self._model.named_parameters())
        return {
            name: _session_settings.grouping_of(
                name, parameters[name], self._options.replication_factor, setting
            )
            for name, setting in self.per_replica_params.items()
        }

    def _check_updatable_buffers(self) -> None:
        names = self._options._Popart.options.get("updatableNamedBuffers") or ()
        unknown = sorted(set(names) - set(dict(self._model.named_buffers())))
        if unknown:
            raise _impl.createPoptorchError(
                f"updatableNamedBuffers lists {', '.join(unknown)}, which the model does not have as buffers."
            )

    # -- device ------------------------------------------------------------------------------------------

    def _ipus_used(self, stages: StageSummary | None) -> int:
        return max(1, stages.ipus_per_replica if stages is not None else 1) * self._options.replication_factor

    def _reserve(self, stages: StageSummary | None) -> tuple[int, bool]:
        """How many IPUs the program needs, and whether they are shown as hardware; refuses what cannot be had."""
        options = self._options
        offline = options.connection_type == enums.ConnectionType.Never
        modelled = options.use_model if options.exists("use_model") else systems.model_only()
        hardware = not modelled and not offline
        if not hardware and not offline and options._Popart.options["instrumentWithHardwareCycleCounter"]:
            raise _impl.createPoptorchError(
                "Cycle count logging is only supported on actual IPU hardware, and this program runs on an IPU model. "
                "Leave out useIpuModel, POPTORCH_IPU_MODEL and TREMULA_VIRTUAL_IPUS=0, or logCycleCount."
            )
        ipus = attach.ipus_needed(
            self._ipus_used(stages), round_up=options.auto_round_num_ipus, hardware=hardware
        )
        return ipus, hardware

    def _acquire(self, stages: StageSummary | None) -> None:
        """Choose the device, as soon as it is known what the program needs; hold it from now on if asked to."""
        options = self._options
        ipus, hardware = self._reserve(stages)
        if options.exists("use_model"):
            _device_log.chosen_by_user(options.use_model)
        offline = options.connection_type == enums.ConnectionType.Never
        device_id = options.ipu_id if options.exists("ipu_id") else None
        attachment = Attachment(ipus, device_id=device_id, hardware=hardware)
        weakref.finalize(self, attachment.detach)
        if options.connection_type == enums.ConnectionType.Always:
            attachment.attach()
        if not offline:
            _device_log.acquired(attachment, ipus, hardware)
        if attachment.attached:
            _device_log.attached(attachment)
        self._attachment = attachment

    def _attach(self) -> None:
        """Take the device, unless it is held already, and load it: weights, optimizer, random state."""
        assert self._attachment is not None
        if not self._attachment.attached:
            self._attachment.attach()
            _device_log.attached(self._attachment)
        self._meter = _metering.meter_of(self)
        session = self._compiled()
        self.copyWeightsToDevice()
        if self._optimizer is not None:
            self._update_optimizer_if_needed()
        if isinstance(self._optimizer, optim.Optimizer):
            if self._optimizer.has_state():
                self._optimizer.ipu_state_is_dirty = True
                self._optimizer.host_state_is_dirty = False
                self._write_optimizer_state_if_needed()
            else:
                self._optimizer.host_state_is_dirty = True
                self._optimizer.ipu_state_is_dirty = False
        if self._random_words is not None:
            self._write_random_state(session, self._random_words)

    def attachToDevice(self) -> None:
        """Load the compiled program on a device again."""
        self._compiled()
        assert self._options.connection_type != enums.ConnectionType.Never, (
            "Trying to attach to an offline device (ConnectionType.Never)"
        )
        if self.isAttachedToDevice():
            raise _impl.createPoptorchError("Device is already attached")
        self._attach()

    def detachFromDevice(self) -> None:
        """Give the device back after reading weights, optimizer state and random state from it."""
        self._compiled()
        if not self.isAttachedToDevice():
            raise _impl.createPoptorchError("Device is not attached")
        assert self._attachment is not None
        self._random_words = self.rng_state
        if self._training:
            self.copyWeightsToHostIfNeeded()
            self._read_optimizer_state()
        self._attachment.detach()
        log.layer("poptorch:cpp").debug("Detached from device")

    def destroy(self) -> None:
        """Release the device and the program. A training model's module is unwrapped, its weights up to date."""
        if not self.isCompiled():
            return
        if self._training:
            self.copyWeightsToHostIfNeeded()
            if self._optimizer is not None:
                self._optimizer.state_dict()
        if self._attachment is not None:
            self._attachment.detach()
        self._session = self._modelled = None
        if not self._training:
            return
        if not _impl.isWrapped(self._user_model):
            raise _impl.createPoptorchError(
                "this module is not wrapped any more: was it destroyed through another executor?"
            )
        unwrap_model(self._user_model, remember=False)


def as_device(tensor: torch.Tensor) -> torch.Tensor:
    """An input as the device takes it: dense, narrowed, without gradient; itself where that is so already."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    dtype = device_dtype(tensor.dtype)
    if dtype != tensor.dtype:
        tensor = tensor.to(dtype)
    return tensor.contiguous()


def _without_gradient(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.requires_grad:
        return tensor
    logger.warning(
        "an input has requires_grad=True%s: no gradient flows out of a wrapped model, so it is treated as a constant",
        f" (at {line})" if (line := user_line()) else "",
    )
    return tensor.detach()


@contextlib.contextmanager
def _distributed_compilation(options: Options, model: torch.nn.Module) -> Iterator[None]:
    """In a distributed run with a cache, one process compiles and the others, one by one, find the result.

    Only code is compiled inside. All processes capture their programs before, side by side.
    """
    folder = _session_settings.cache_folder(options)
    if options.Distributed.numProcesses <= 1 or folder is None:
        yield
        return
    root, _ = usable_root(folder)
    with Store(root).lock(key_of({"distributed": repr(model)})):
        process = options.Distributed.processId
        logger.debug("Executable cache file locked by process %s", process)
        try:
            yield
        finally:
            logger.debug("Process %s released the cache lock", process)


class _progress:
    """The compilation's progress bar, if the user wants one."""

    def __init__(self, options: Options) -> None:
        self._bar = options._progress_bar if options._show_compilation_progress_bar else None

    def __enter__(self) -> Callable[[int], None]:
        self._advance(0)
        return self._advance

    def __exit__(self, error_type: object, *_rest: object) -> None:
        if error_type is not None and self._bar is not None:
            self._bar.abandon()

    def _advance(self, percent: int) -> None:
        if self._bar is not None:
            self._bar(percent, 100)
