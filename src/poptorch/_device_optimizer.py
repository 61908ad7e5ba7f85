"""The optimizer of a training model: its values and its state, on the host and on the device."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import MethodType
from typing import Any, cast

import torch

from tremula import log
from tremula.device.lifecycle import DeviceProgram
from tremula.execute.executable import OptimizerState
from tremula.frontends.torch.dialect.device_words import DEVICE_LAYER
from tremula.frontends.torch.optimize.host_steps import host_step_message, mark_stepped, watch_host_steps
from tremula.frontends.torch.optimize.spec import OptimizerSpec
from tremula.frontends.torch.session import Session
from tremula.invariants import instance

from . import _optimizer_attributes, _optimizer_spec, optim
from ._host_weights import HostWeights
from ._logging import logger
from .options import Options


class DeviceOptimizer:
    """Keeps an optimizer on the host and its counterpart on the device in step."""

    def __init__(self, options: Options, weights: HostWeights, device: DeviceProgram[Session]) -> None:
        self._options = options
        self._weights = weights
        self._device = device
        self._tracker = _optimizer_attributes.OptimizerAttrTracker(options)
        self._values: dict[str, Any] = {}
        self._values_changed = False
        self._watch: Any = None
        #: torch's class, and PopTorch's where it is one of ours
        self.optimizer: Any = None

    @property
    def _own(self) -> optim.Optimizer | None:
        """The optimizer if it is one of poptorch's, which have state that can be read and written."""
        return self.optimizer if isinstance(self.optimizer, optim.Optimizer) else None

    def set(self, optimizer: torch.optim.Optimizer) -> None:
        """Use `optimizer`, or the changed values of the one in use, from the next call on."""
        previous, own = self.optimizer, self._own
        compiled = self._device.program is not None
        if compiled and optimizer is not previous:
            if own is not None:
                self.read()
                own.state_dict = own.get_state_dict  # type: ignore[method-assign]
            if isinstance(optimizer, optim.Optimizer):
                optimizer.ipu_state_is_dirty = True
        values = _optimizer_attributes.convertOptimizerToDict(
            optimizer, self._tracker, self._options, compiled
        )
        if isinstance(optimizer, optim.Optimizer):
            optimizer.state_dict = MethodType(_state_dict, weakref.proxy(self))  # type: ignore[method-assign]
        if optimizer is not previous:
            if self._watch is not None:
                self._watch.remove()
            self._watch = watch_host_steps(optimizer, _warn_of_host_step)
        self.optimizer = optimizer
        if values != self._values:
            self._values = values
            self._values_changed = True

    def spec(self) -> OptimizerSpec:
        """The optimizer in the engine's words."""
        names = {id(tensor): name for name, tensor in self._weights.tensors().items()}
        return _optimizer_spec.to_spec(self.optimizer, self._values, lambda tensor: names.get(id(tensor)))

    def write_values(self) -> None:
        """Bring hyperparameters that have changed to the device."""
        if self._values_changed:
            spec = self.spec()
            self._device.compiled.set_optimizer(spec)
            self._values_changed = False
            for line in _optimizer_spec.describe(self._values, spec):
                log.layer(DEVICE_LAYER).debug(line)

    def read(self) -> None:
        """Bring the state from the device to the host, if the device's is newer."""
        optimizer = self._own
        if optimizer is None:
            return
        if not optimizer.host_state_is_dirty:
            logger.debug("Using cached optimiser state dict")
            return
        log.layer(DEVICE_LAYER).debug("Writing optimiser state tensors from IPU to host.")
        state = self._device.compiled.executable.read_optimizer()
        optimizer.set_state_dict(
            {
                "ipu_state": state.tensors,
                "ipu_param": state.parameters,
                **torch.optim.Optimizer.state_dict(cast(torch.optim.Optimizer, optimizer)),
            }
        )
        optimizer.ipu_state_is_dirty = False

    def write(self, save_weights: Callable[[], Any]) -> None:
        """Bring the state to the device, if the host's is newer; the device's weights are saved before."""
        optimizer = self.optimizer
        if not isinstance(optimizer, optim.Optimizer) or not optimizer.ipu_state_is_dirty:
            return
        if optimizer.has_state():
            save_weights()
            held = optimizer.get_state_dict()
            log.layer(DEVICE_LAYER).debug("Writing optimiser state tensors from host to IPU memory")
            state = OptimizerState(held.get("ipu_state") or {}, held.get("ipu_param") or {})
            missing = self._device.compiled.executable.write_optimizer(state)
            if missing:
                log.layer(DEVICE_LAYER).warning("Missing optimizer state: %s", ", ".join(missing))
        optimizer.ipu_state_is_dirty = False

    def load(self, save_weights: Callable[[], Any]) -> None:
        """Bring values and state to a device that was just attached."""
        self.write_values()
        optimizer = self._own
        if optimizer is not None:
            known = optimizer.has_state()
            optimizer.ipu_state_is_dirty, optimizer.host_state_is_dirty = known, not known
            self.write(save_weights)

    def stepped(self) -> None:
        """A call has updated the weights."""
        optimizer = self.optimizer
        if isinstance(optimizer, optim.Optimizer):
            optimizer.host_state_is_dirty = True
        if optimizer is not None:
            mark_stepped(optimizer)


def _warn_of_host_step(line: str) -> None:
    log.warn_once(f"host step {line}", host_step_message(line))


def _state_dict(held: DeviceOptimizer) -> dict[str, Any]:
    """What `state_dict()` of an optimizer that a training model uses returns."""
    optimizer = instance(held.optimizer, optim.Optimizer)
    if held._device.program is not None:
        held.read()
    return optimizer.get_state_dict()
