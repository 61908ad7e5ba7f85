"""One micro-batch: forward, and where something is trained backward."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tremula.frontends.onnx.model import Node
from tremula.frontends.onnx.run.program import GRADIENT, GraphProgram


@dataclass(frozen=True)
class TurnResult:
    """What one turn gave: anchored tensors, gradients of the trained weights, new values of other weights."""

    anchors: Mapping[str, Tensor]
    gradients: Mapping[str, Tensor]
    stored: Mapping[str, Tensor]


class EagerStep:
    """Runs a graph operator by operator."""

    def __init__(
        self,
        program: GraphProgram,
        generator: torch.Generator,
        replica: int = 0,
        exchange: Callable[[Tensor], list[Tensor]] | None = None,
    ) -> None:
        self._program = program
        training = program.request.loss is not None
        settings = replace(
            program.request.settings,
            training=training,
            generator=generator,
            replica=replica,
            exchange=exchange,
        )
        self._interpreter = program.interpreter.with_settings(settings)
        self._training = training
        self._differentiated = tuple(dict.fromkeys((*program.trained, *program.gradients)))

    def __call__(
        self, weights: Mapping[str, Tensor], inputs: Mapping[str, Tensor], loss_scale: float | Tensor
    ) -> TurnResult:
        program = self._program
        with torch.set_grad_enabled(self._training):
            values = {name: self._leaf(name, tensor) for name, tensor in {**weights, **inputs}.items()}
            held = {name: values[name] for name in self._differentiated if name in values}

            def watch(node: Node, outputs: Sequence[Tensor | None]) -> None:
                pairs = zip(node.outputs, outputs, strict=False)
                held.update({name: tensor for name, tensor in pairs if name in asked and tensor is not None})

            asked = {name for name in program.gradients if name not in held}
            results = self._interpreter.run(values, program.wanted, watch if asked else None, fresh=asked)
            gradients = self._gradients(results, held, loss_scale)
        anchors = {name: results[name].detach() for name in program.values}
        anchors |= {GRADIENT + name: gradients[name] for name in program.gradients}
        trained = {name: gradients[name] for name in program.trained}
        stored = {name: results[made].detach() for name, made in program.stores.items()}
        return TurnResult(anchors, trained, stored)

    def _leaf(self, name: str, tensor: Tensor) -> Tensor:
        if not self._training or name not in self._differentiated:
            return tensor
        # integers have gradients on the device: they are computed as floats that hold them exactly
        whole = tensor if tensor.is_floating_point() else tensor.double()
        return whole.detach().requires_grad_(True)

    def _gradients(
        self, results: Mapping[str, Tensor], held: Mapping[str, Tensor], scale: float | Tensor
    ) -> dict[str, Tensor]:
        loss_name = self._program.request.loss
        if loss_name is None or not self._differentiated:
            return {}
        loss = results[loss_name].reshape(())
        names = [name for name in self._differentiated if held[name].requires_grad]
        found: dict[str, Tensor] = {}
        if names and loss.requires_grad:
            seed = _seed(torch.as_tensor(scale), loss.dtype)
            given = torch.autograd.grad(loss, [held[name] for name in names], seed, allow_unused=True)
            found = {name: each for name, each in zip(names, given, strict=True) if each is not None}
        return {
            name: found[name].detach() if name in found else torch.zeros_like(held[name])
            for name in self._differentiated
        }


def _seed(scale: Tensor, dtype: torch.dtype) -> Tensor:
    """The gradient of the scaled loss; a scale beyond half precision is its largest number, as on the device."""
    if dtype is torch.float16:
        scale = scale.clamp(max=torch.finfo(dtype).max)
    return scale.to(dtype)
