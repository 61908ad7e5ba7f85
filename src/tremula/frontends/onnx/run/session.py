"""A session: a checked graph with its weights on the host and on the device, run step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.run.anchors import SUM, Turn, Turns, place_of, returned_shape
from tremula.frontends.onnx.run.device_types import device_type
from tremula.frontends.onnx.run.feeds import StepData
from tremula.frontends.onnx.run.program import GraphProgram
from tremula.frontends.onnx.run.step import EagerStep
from tremula.frontends.onnx.run.updating import Updater


class GraphSession:
    """Runs one program.

    Attributes:
        program: what is run.
        turns: the loops of a step.
        updater: trains the weights; None where nothing is trained.
        host: the host's copies of the weights.
    """

    def __init__(self, program: GraphProgram, turns: Turns, updater: Updater | None = None) -> None:
        for rule in program.request.anchors.values():
            if rule.period < 1:
                raise Error("an anchor is returned every 1 or more batches.")
        self.program = program
        self.turns = turns
        self.updater = updater
        self.host = {
            name: _on_device(stored.tensor()) for name, stored in program.model.graph.initializers.items()
        }
        self._generator = torch.Generator().manual_seed(0)
        self._step: EagerStep | None = None
        self._device: dict[str, Tensor] = {}

    # -- preparing ------------------------------------------------------------------------------------------

    @property
    def prepared(self) -> bool:
        return self._step is not None

    def prepare(self) -> None:
        """Compile."""
        self._step = EagerStep(self.program, self._generator)

    def set_seed(self, seed: int) -> None:
        """Begin the random numbers anew."""
        self._generator.manual_seed(seed)

    # -- weights --------------------------------------------------------------------------------------------

    @property
    def device(self) -> Mapping[str, Tensor]:
        """The weights on the device."""
        return self._device

    def weights_from_host(self) -> None:
        """Copy the host's weights to the device."""
        self._device = {name: self.host[name].clone() for name in self.program.weights}
        if self.updater is not None:
            self.updater.begin({name: self._device[name] for name in self.program.trained})

    def weights_to_host(self) -> None:
        """Copy the device's weights to the host."""
        for name, tensor in self._device.items():
            self.host[name] = tensor.detach().clone()
        if self.updater is not None:
            self.updater.to_host()

    def held(self) -> dict[str, Tensor]:
        """The host's copies of the weights, and of the state of what trains them."""
        return {**self.host, **(self.updater.tensors() if self.updater is not None else {})}

    def write(self, name: str, value: Tensor) -> None:
        """Give the host's copy of a weight another value."""
        own = self.host.get(name)
        if own is None:
            raise Error(f"there is no weight {name} in the graph.")
        if own.numel() != value.numel():
            raise Error(f"the weight {name} has {own.numel()} elements, and {value.numel()} were given.")
        self.host[name] = _on_device(value).to(own.dtype).reshape(own.shape).clone()

    def reset(self, values: Mapping[str, Tensor], *, ignore_unknown: bool) -> None:
        """Take over the weights of another model."""
        unknown = [name for name in values if name not in self.host]
        if unknown and not ignore_unknown:
            raise Error(f"resetHostWeights, no tensor {unknown[0]} in the graph.")
        for name, value in values.items():
            if name in self.host:
                self.write(name, value)

    # -- running --------------------------------------------------------------------------------------------

    def anchor_shape(self, name: str) -> tuple[int, ...]:
        """The shape of the host's array of an anchored tensor."""
        return returned_shape(self.program.request.anchors[name], self.turns, self.program.info(name).shape)

    def run(self, data: StepData) -> None:
        """One step."""
        if self._step is None:
            raise Error("the session is not prepared.")
        if not self._device:
            self.weights_from_host()
        data.begin(self.program.inputs, self.turns)
        for batch in range(self.turns.batches):
            gradients: dict[str, Tensor] = {}
            for turn in self._turns_of(batch):
                self._turn(self._step, data, turn, gradients)
            if self.updater is not None and gradients:
                self.updater.update(self._device, gradients)

    def _turns_of(self, batch: int) -> Iterator[Turn]:
        for accumulation in range(self.turns.accumulation):
            for replica in range(self.turns.replicas):
                yield Turn(batch, accumulation, replica)

    def _turn(self, step: EagerStep, data: StepData, turn: Turn, gradients: dict[str, Tensor]) -> None:
        inputs = {
            name: data.input(name, turn).to(self._computed(kind.dtype))
            for name, kind in self.program.inputs.items()
        }
        scale = 1.0 if self.updater is None else self.updater.loss_scale
        found = step(self._device, inputs, scale)
        for name, gradient in found.gradients.items():
            gradients[name] = gradients[name] + gradient if name in gradients else gradient
        with torch.no_grad():
            for name, value in found.stored.items():
                self._device[name].copy_(value)
        for name, rule in self.program.request.anchors.items():
            place = place_of(rule, self.turns, turn)
            if place is not None:
                value = found.anchors[name] if name in found.anchors else self._device[name]
                value = value.to(self.program.info(name).dtype)
                first = turn.batch == 0 and turn.accumulation == 0
                data.output(name, turn, place, value, add=rule.mode == SUM and not first)

    def _computed(self, dtype: torch.dtype) -> torch.dtype:
        return self.program.request.settings.retyped.get(dtype, dtype)


def _on_device(tensor: Tensor) -> Tensor:
    return tensor.to(device_type(tensor.dtype))
