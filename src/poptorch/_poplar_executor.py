"""`PoplarExecutor`: the object that `trainingModel` and `inferenceModel` return.

It binds arguments, decides when weights and optimizer state travel between host and device, and hands the
rest to an engine session. The rules of synchronisation are those of the public documentation.
"""

from __future__ import annotations

import collections
import datetime
import functools
import json
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import MethodType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from tremula import log
from tremula.capture.explain import located
from tremula.capture.record import user_line
from tremula.capture.stages import StageSummary
from tremula.errors import Error
from tremula.execute.executable import ReplicaGrouping, TurnTimes
from tremula.execute.outputs import returned_turns
from tremula.machine import devices, ledger
from tremula.machine.modelled import not_modelled_cycles
from tremula.optimize.adopt import adopt, host_step_message, mark_stepped
from tremula.program.dtypes import device_dtype
from tremula.program.structure import flattenTensorStructure, reconstructTensorStructure
from tremula.session import Session

from . import (
    _args_parser,
    _counters,
    _device_log,
    _executable_file,
    _impl,
    _optimizer_attributes,
    _printing,
    _session_settings,
    enums,
    optim,
    poptorch_core,
    profiling,
)
from ._logging import logger
from ._wrapping import Wrapping, unwrap_model
from .options import Options, PipelinedExecution, ShardedExecution

NO_EXECUTABLE_ERR = "Model has not been compiled or has been destroyed."
_BACKWARD_ERR = (
    "backward() cannot be called explicitly on outputs of a PopTorch model. If you're using a trainingModel, "
    "the backwards pass is performed automatically when invoking the model. If you're using an inferenceModel, "
    "you should use a trainingModel instead."
)


def _backward_refused(*_args: Any, **_kwargs: Any) -> None:
    raise located(_impl.createPoptorchError(_BACKWARD_ERR), user_line())


#: methods of a module that return it, so that `model = wrapped.half()` would lose the wrapper
_CONVERSIONS = frozenset(
    {"to", "half", "float", "double", "bfloat16", "type", "cpu", "cuda", "ipu", "to_empty"}
)


def _returns_plain_module(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def convert(*args: Any, **kwargs: Any) -> Any:
        line = user_line()
        log.warn_once(
            f"conversion {line}",
            f"{method.__name__}() of a wrapped model{f', at {line},' if line else ''} converts and returns the plain "
            "module: calling what it returns runs on the host. Convert the module before it is wrapped, and keep "
            "the object that trainingModel or inferenceModel returned.",
        )
        return method(*args, **kwargs)

    return convert


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


class PoplarExecutor:
    """A model wrapped for the device. Use `trainingModel` or `inferenceModel` to make one."""

    _precompile_hooks: dict[int, Callable[[], Any]] = collections.OrderedDict()
    _postcompile_hooks: dict[int, Callable[[], Any]] = collections.OrderedDict()

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
        self._options = self._own_options(options)
        self._training = training
        self._poptorch_version = poptorch_version
        self._resolve_output_mode(optimizer)
        # Before the module changes class: afterwards its forward would be a wrapper's.
        self._args_parser = _args_parser.ArgsParser(model)
        self._session: Session | None = None
        self._attachment: devices.Attachment | None = None
        self._executable_inputs: _args_parser.ArgsParser.Args | None = None
        self._anchor_memory: dict[str, torch.Tensor] = {}
        self._compile_seconds = 0.0
        self._calls_since_compile = 0
        self._dirty_host_weights = False
        self._host_weights_version = 0
        self._ipu_optimizer_is_dirty = False
        self._dict_optimizer: dict[str, Any] = {}
        self._optimizer: torch.optim.Optimizer | None = None
        self._optimizer_watch: Any = None
        self._random_words: list[int] | None = None
        if self._options.exists("random_seed"):
            self._random_words = [self._options.random_seed]
        self.per_replica_params: dict[str, tuple[Any, int, Any]] = {}
        kind = "trainingModel" if training else "inferenceModel"
        self._profiling = profiling.Channel(f"poptorch.{kind}")
        self._profiling.instrument(
            self, "copyWeightsToHost", "copyWeightsToDevice", "setOptimizer", "compile", "destroy"
        )
        self._ledger = ledger.wrapped(kind, _impl._wrapping.plain_class(self._user_model).__name__)
        for anchor in self._options.anchored_tensors.values():
            if anchor[1]:  # the anchor follows the model's output mode
                anchor[2] = self._options.output_mode
                anchor[3] = self._options.output_return_period
        if training:
            self._attribute_tracker = _optimizer_attributes.OptimizerAttrTracker(self._options)
            self.setOptimizer(optimizer or optim.SGD(self._user_model.parameters(), lr=0.01))
        self._options._freeze()
        if training:
            self._wrapping = Wrapping(self)
            self.PoptorchParameter = self._wrapping.parameter_class
            self.PoptorchBuffer = self._wrapping.buffer_class
            self._wrapping.put_on(self._user_model)

    @staticmethod
    def _own_options(options: Options | None) -> Options:
        if options is None:
            return Options()
        if not isinstance(options, Options):
            raise _impl.createPoptorchError(
                f"Invalid type: 'options' is of type {type(options)} (Expected poptorch.Options)"
            )
        options._freeze()
        return options.clone()

    def _resolve_output_mode(self, optimizer: torch.optim.Optimizer | None) -> None:
        options = self._options
        if options.defaultOutputMode():
            options.outputMode(enums.OutputMode.Final if self._training else enums.OutputMode.All)
        if self._training:
            return
        assert optimizer is None, "an inference model has no optimizer"
        if options.Training.gradient_accumulation == 1:
            return
        text = (
            "You must set poptorch.Options().Training.gradientAccumulation to 1 or leave it as its default "
            "value (1) when running a poptorch.inferenceModel()."
        )
        strategy = options._execution_strategy
        if isinstance(strategy, PipelinedExecution) and not isinstance(strategy, ShardedExecution):
            text += (
                " Use poptorch.Options().deviceIterations to process a sufficient number of batches each run "
                "for pipelined execution instead."
            )
        raise _impl.createPoptorchError(text)

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
    def _executable(self) -> Session | None:
        return self._session

    def __repr__(self) -> str:
        return _printing.module_repr(self._user_model)

    def __getattr__(self, attr: str) -> Any:
        if attr == "_user_model":  # not set yet, as in a half-built object
            raise AttributeError(attr)
        value = getattr(self._user_model, attr)
        if attr in _CONVERSIONS and isinstance(self._user_model, torch.nn.Module):
            return _returns_plain_module(value)
        if isinstance(value, torch.nn.Parameter):
            return _GroupableParameter(value, attr, self.per_replica_params)
        return value

    def isCompiled(self) -> bool:
        """Whether there is a compiled program."""
        return self._session is not None

    def isAttachedToDevice(self) -> bool:
        """Whether the program is loaded on a device."""
        return self._attachment is not None and self._attachment.attached

    @property
    def _is_attached(self) -> bool:
        return self.isAttachedToDevice()

    def _compiled(self) -> Session:
        if self._session is None:
            raise _impl.createPoptorchError(NO_EXECUTABLE_ERR)
        return self._session

    # -- weights -----------------------------------------------------------------------------------------

    def copyWeightsToHostIfNeeded(self) -> bool:
        """Copy the weights to the host if a training call has changed them since; says whether it did."""
        if not self._dirty_host_weights:
            return False
        logger.debug("Implicit copyWeightsToHost()")
        self.copyWeightsToHost()
        return True

    def copyWeightsToHost(self) -> None:
        """Copy parameters and buffers from the device into the user's module."""
        session = self._compiled()
        self._dirty_host_weights = False  # first: the look at the module's state below must not copy again
        host = self._host_state()
        with torch.no_grad():
            for name, value in session.executable.read_state().items():
                if name in host:
                    torch.Tensor.copy_(host[name].detach(), value)
        self._host_weights_version += 1

    def copyWeightsToDevice(self) -> None:
        """Copy parameters and buffers from the user's module to the device."""
        session = self._compiled()
        self._dirty_host_weights = False
        if self._optimizer is not None:
            self._optimizer.state_dict()
        session.executable.write_state({name: value.detach() for name, value in self._host_state().items()})

    def copyNamedBuffersToDevice(self) -> None:
        """Copy the buffers named with `Options.updatableNamedBuffers` to the device."""
        session = self._compiled()
        names = self._options._Popart.options.get("updatableNamedBuffers")
        if names is None:
            raise _impl.createPoptorchError(
                "No named buffers marked as updatable via updatableNamedBuffers option: list them with "
                "poptorch.Options().updatableNamedBuffers([...]) before the model is compiled."
            )
        self._dirty_host_weights = False
        host = self._host_state()
        session.executable.write_state({name: host[name].detach() for name in names})

    def _host_state(self) -> dict[str, torch.Tensor]:
        return {**dict(self._model.named_parameters()), **dict(self._model.named_buffers())}

    def load_state_dict(self, state_dict: Mapping[str, torch.Tensor], strict: bool = True) -> Any:
        """Load a checkpoint into the user's module and, if attached, into the device."""
        result = self._user_model.load_state_dict(state_dict, strict)
        if self.isAttachedToDevice():
            logger.debug("load_state_dict: implicit copyWeightsToDevice()")
            self.copyWeightsToDevice()
        return result

    # -- optimizer ---------------------------------------------------------------------------------------

    def setOptimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Use `optimizer`, or the changed values of the one in use, from the next call on."""
        previous = self._optimizer
        if self.isCompiled() and optimizer is not previous:
            if isinstance(previous, optim.Optimizer):
                self._read_optimizer_state()
                previous.state_dict = previous.get_state_dict  # type: ignore[method-assign]
            if isinstance(optimizer, optim.Optimizer):
                optimizer.ipu_state_is_dirty = True
        converted = _optimizer_attributes.convertOptimizerToDict(
            optimizer, self._attribute_tracker, self._options, self.isCompiled()
        )
        if isinstance(optimizer, optim.Optimizer):
            optimizer.state_dict = MethodType(_optimizer_state, weakref.proxy(self))  # type: ignore[method-assign]
        if optimizer is not previous:
            if self._optimizer_watch is not None:
                self._optimizer_watch.remove()
            self._optimizer_watch = adopt(
                optimizer, lambda line: log.warn_once(f"host step {line}", host_step_message(line))
            )
        self._optimizer = optimizer
        if converted != self._dict_optimizer:
            self._dict_optimizer = converted
            self._ipu_optimizer_is_dirty = True
        if self.isAttachedToDevice():
            self._update_optimizer_if_needed()
            self._write_optimizer_state_if_needed()

    def _optimizer_spec(self) -> Any:
        names = {id(tensor): name for name, tensor in self._host_state().items()}
        return _optimizer_attributes.to_spec(
            self._optimizer, self._dict_optimizer, lambda tensor: names.get(id(tensor))
        )

    def _update_optimizer_if_needed(self) -> None:
        if self._ipu_optimizer_is_dirty:
            spec = self._optimizer_spec()
            self._compiled().set_optimizer(spec)
            self._ipu_optimizer_is_dirty = False
            for line in _optimizer_attributes.describe(self._dict_optimizer, spec):
                log.layer("poptorch:cpp").debug(line)

    def _read_optimizer_state(self) -> None:
        optimizer = self._optimizer
        if not isinstance(optimizer, optim.Optimizer):
            return
        if not optimizer.host_state_is_dirty:
            logger.debug("Using cached optimiser state dict")
            return
        training = self._compiled().executable.training
        assert training is not None
        log.layer("poptorch:cpp").debug("Writing optimiser state tensors from IPU to host.")
        optimizer.set_state_dict(
            {
                "ipu_state": {name: tensor.clone() for name, tensor in training.state.items()},
                "ipu_param": {name: tensor.clone() for name, tensor in training.hyper.items()},
                **torch.optim.Optimizer.state_dict(optimizer),
            }
        )
        optimizer.ipu_state_is_dirty = False

    def _write_optimizer_state_if_needed(self) -> None:
        optimizer = self._optimizer
        session = self._compiled()
        if not isinstance(optimizer, optim.Optimizer) or not optimizer.ipu_state_is_dirty:
            return
        if optimizer.has_state():
            self.copyWeightsToHostIfNeeded()
            _device_log.write_optimizer_state(session, optimizer.get_state_dict())
        optimizer.ipu_state_is_dirty = False

    # -- compiling ---------------------------------------------------------------------------------------

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile for these arguments (those of `forward`) without running."""
        bound = self._args_parser(args, kwargs, False)
        if self.isCompiled():
            logger.warning("Call to compile() ignored: the executable is already compiled")
            return
        self._compile(bound)

    def _compile(self, bound: Any, restore: Callable[[list[torch.Tensor]], Session] | None = None) -> None:
        """Compile for `bound`, or load what `restore` makes for one micro-batch of it."""
        options = self._options
        started = time.perf_counter()
        with self._profiling.tracepoint("modelCompilation"), _progress(options) as advance:
            poptorch_core._validateOptions(options.toDict())
            options._report_options_without_effect()
            micro_batch, rebuild = self._micro_batch(bound)
            advance(10)
            if restore is None:
                session = self._capture(bound, micro_batch, rebuild, advance)
            else:
                session = restore(micro_batch)
            attachment = self._acquire(session)
            if options.connection_type == enums.ConnectionType.Always:
                attachment.attach()
                _device_log.attached(attachment)
            _device_log.compiled(session)
            advance(100)
        self._attachment = attachment
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

        return [_as_device(tensor) for tensor in tensors], call

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
        settings = _session_settings.session_settings(self._options, self._training, self._groupings())
        self._check_updatable_buffers()
        spec = self._optimizer_spec() if self._training else None
        session = Session(settings, spec)
        strategy = self._options._execution_strategy
        names = ["input" if not i else f"input/{i}" for i in range(len(micro_batch))]
        unwrap_model(self._model)
        unwrap_model(self._user_model)
        advance(20)
        try:
            with _OverwriteContextManager():
                for hook in list(self._precompile_hooks.values()):
                    hook()
                strategy.onStartTracing()
                try:
                    session.compile(
                        self._model, call, micro_batch, names, flattenTensorStructure, self._reserve
                    )
                finally:
                    strategy.onEndTracing()
                    for hook in list(self._postcompile_hooks.values()):
                        hook()
        finally:
            _impl.rewrapModelIfNecessary(self._model)
            _impl.rewrapModelIfNecessary(self._user_model)
        advance(90)
        return session

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
        modelled = options.use_model if options.exists("use_model") else devices.model_only()
        hardware = not modelled and not offline
        if not hardware and not offline and options._Popart.options["instrumentWithHardwareCycleCounter"]:
            raise _impl.createPoptorchError(
                "Cycle count logging is only supported on actual IPU hardware. Set TREMULA_VIRTUAL_IPUS to have "
                "virtual IPUs counted as hardware, or leave out logCycleCount."
            )
        ipus = devices.ipus_needed(
            self._ipus_used(stages), round_up=options.auto_round_num_ipus, hardware=hardware
        )
        return ipus, hardware

    def _acquire(self, session: Session) -> devices.Attachment:
        options = self._options
        ipus, hardware = self._reserve(session.stages())
        offline = options.connection_type == enums.ConnectionType.Never
        device_id = options.ipu_id if options.exists("ipu_id") else None
        always = options.connection_type == enums.ConnectionType.Always
        attachment = devices.Attachment(ipus, device_id=device_id, hardware=hardware, free=always)
        if not offline:
            _device_log.acquired(attachment, ipus, hardware)
        weakref.finalize(self, attachment.detach)
        return attachment

    def _attach(self) -> None:
        """Take the device, unless it is held already, and load it: weights, optimizer, random state."""
        assert self._attachment is not None
        if not self._attachment.attached:
            self._attachment.attach()
            _device_log.attached(self._attachment)
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
            session.executable.random.restore(self._random_words)

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
        session = self._compiled()
        if not self.isAttachedToDevice():
            raise _impl.createPoptorchError("Device is not attached")
        assert self._attachment is not None
        self._random_words = session.executable.random.words()
        if self._training:
            self.copyWeightsToHostIfNeeded()
            self._read_optimizer_state()
        self._attachment.detach()

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
        self._session = None
        if not self._training:
            return
        if not _impl.isWrapped(self._user_model):
            raise _impl.createPoptorchError(
                "this module is not wrapped any more: was it destroyed through another executor?"
            )
        unwrap_model(self._user_model)

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
            given = [_synthetic(_as_device(tensor)) for tensor in originals]
        else:
            given = [_as_device(tensor) for tensor in originals]
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
    def rng_state(self) -> list[int]:
        """Seed and state of the device's random number generators."""
        session = self._compiled()
        if self._random_words is not None:
            return self._random_words
        return session.executable.random.words()

    @rng_state.setter
    def rng_state(self, state: list[int]) -> None:
        session = self._compiled()
        session.executable.random.restore(state)
        self._random_words = list(state)

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
        return json.dumps(_device_log.program_as_ir(self._compiled()))

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


class _GroupableParameter:
    """A parameter seen through the executor: adds `replicaGrouping`, forwards everything else."""

    def __init__(self, parameter: torch.nn.Parameter, name: str, groupings: dict[str, Any]) -> None:
        self._parameter = parameter
        self._name = name
        self._groupings = groupings

    def replicaGrouping(
        self,
        comm_group_type: enums.CommGroupType,
        shards: int,
        variable_retrieval_mode: enums.VariableRetrievalMode,
    ) -> None:
        """Give groups of `shards` replicas a value of their own; dimension 0 is the group."""
        self._groupings[self._name] = (comm_group_type, shards, variable_retrieval_mode)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parameter, name)


def _optimizer_state(executor: PoplarExecutor) -> dict[str, Any]:
    """What `state_dict()` of an optimizer that a training model uses returns."""
    optimizer = executor._optimizer
    assert isinstance(optimizer, optim.Optimizer)
    if executor.isCompiled():
        executor._read_optimizer_state()
    return optimizer.get_state_dict()


def _as_device(tensor: torch.Tensor) -> torch.Tensor:
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
        "Input tensor has requires_grad=True set. This tensor will be detached because backward pass via inputs is "
        "not supported%s.",
        f" (at {line})" if (line := user_line()) else "",
    )
    return tensor.detach()


def _synthetic(tensor: torch.Tensor) -> torch.Tensor:
    """Data that never left the host: random for floating point, zeros otherwise."""
    return torch.randn_like(tensor) if tensor.is_floating_point() else torch.zeros_like(tensor)


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
