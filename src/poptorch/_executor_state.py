"""The state that a wrapped model has on the host: options, weights, optimizer, and when they travel.

The device holds its own copies. The rules of synchronisation are those of the public documentation: uploads
when a model is compiled or attached, downloads when somebody looks.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any

import torch

from tremula import log
from tremula.distributed import independent_models
from tremula.frontends.torch.data import wait_time
from tremula.frontends.torch.optimize.adopt import adopt, host_step_message
from tremula.frontends.torch.session import Session
from tremula.machine.attach import Attachment
from tremula.program.source import user_line
from tremula.telemetry import ledger

from . import _args_parser, _device_log, _impl, _optimizer_attributes, _printing, enums, optim, profiling
from ._logging import logger
from ._steady_call import SteadyCall
from ._wrapping import Wrapping
from .options import Options, PipelinedExecution, ShardedExecution

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun

    from ._metering import CallMeter

ledger.count_data_wait(lambda: (wait_time.waited_seconds(), wait_time.items()))

NO_EXECUTABLE_ERR = "Model has not been compiled or has been destroyed."

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
        independent_models.add_conversion()
        return method(*args, **kwargs)

    return convert


class ExecutorState:
    """What an executor knows and keeps in step with the device."""

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
        #: the chip model's view of the program
        self._modelled: ModelledRun | None = None
        self._attachment: Attachment | None = None
        self._meter: CallMeter | None = None
        self._executable_inputs: _args_parser.ArgsParser.Args | None = None
        self._steady: SteadyCall | None = None
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
            processes = self._options.Distributed.numProcesses
            independent_models.add_model(
                self._ledger.model,
                processes,
                self._options.replication_factor,
                advice="options = popdist.poptorch.Options()  # instead of poptorch.Options()",
            )

    @staticmethod
    def _own_options(options: Options | None) -> Options:
        if options is None:
            return Options()
        if not isinstance(options, Options):
            raise _impl.createPoptorchError(
                f"options must be a poptorch.Options, not a {type(options).__name__}"
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
            "You must set poptorch.Options().Training.gradientAccumulation to 1 for inference, which has no gradients "
            f"to accumulate; it is {options.Training.gradient_accumulation}."
        )
        strategy = options._execution_strategy
        if isinstance(strategy, PipelinedExecution) and not isinstance(strategy, ShardedExecution):
            text += " A pipeline is kept full by poptorch.Options().deviceIterations."
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
        log.layer("poptorch:cpp").debug("Writing weights from IPU to host")
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
        log.layer("poptorch:cpp").debug("Writing weights from host to IPU memory")
        session.executable.write_state({name: value.detach() for name, value in self._host_state().items()})

    def copyNamedBuffersToDevice(self) -> None:
        """Copy the buffers named with `Options.updatableNamedBuffers` to the device."""
        session = self._compiled()
        names = self._options._Popart.options.get("updatableNamedBuffers")
        if names is None:
            raise _impl.createPoptorchError(
                "this model was compiled without buffers that may be updated by name: list them with "
                "poptorch.Options().updatableNamedBuffers([...]) before it is compiled."
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


def _optimizer_state(executor: ExecutorState) -> dict[str, Any]:
    """What `state_dict()` of an optimizer that a training model uses returns."""
    optimizer = executor._optimizer
    assert isinstance(optimizer, optim.Optimizer)
    if executor.isCompiled():
        executor._read_optimizer_state()
    return optimizer.get_state_dict()
