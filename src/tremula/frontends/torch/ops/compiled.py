"""Custom ops of C++ libraries that programs load: run by the Poplar front end, with their own gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from tremula.errors import Error
from tremula.frontends.poplar.user_ops import popart_ops
from tremula.frontends.poplar.user_ops.popart_ops import FROM_INPUT, FROM_OUTPUT, Operator
from tremula.frontends.poplar.user_ops.tensors import TensorFacts, for_device


def is_registered(domain: str, name: str) -> bool:
    """Whether a loaded library offers an op."""
    return (domain, name) in popart_ops.registered()


class CompiledOp:
    """An op of a library, in the form in which custom ops are registered."""

    def __init__(self, domain: str, name: str) -> None:
        self._domain, self._name = domain, name

    def _operator(self, inputs: Sequence[torch.Tensor], attributes: Mapping[str, Any]) -> Operator:
        facts = [TensorFacts.of(for_device(each.detach().numpy())) for each in inputs]
        return popart_ops.operator(self._domain, self._name, facts, attributes)

    def infer(self, *inputs: torch.Tensor, **attributes: Any) -> list[torch.Tensor]:
        """Tensors with the types and shapes of the results."""
        made = self._operator(inputs, attributes)
        return [torch.zeros(each.shape, dtype=_torch_dtype(each)) for each in made.outputs]

    def forward(self, *inputs: torch.Tensor, **attributes: Any) -> list[torch.Tensor]:
        """Compute the op."""
        made = self._operator(inputs, attributes)
        return [torch.from_numpy(array) for array in made.run([each.detach().numpy() for each in inputs])]

    def backward(
        self, gradients: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], attributes: Mapping[str, Any]
    ) -> list[torch.Tensor | None]:
        """Gradients of the inputs, by the gradient ops that the library defines."""
        made = self._operator(inputs, attributes)
        if not made.gradients:
            raise Error(
                f"the custom op {self._name} of domain {self._domain} has no gradient: its library defines no "
                "getGradOps. Train without it, or add one.",
                type="popart_exception",
            )
        found: list[torch.Tensor | None] = [None] * len(inputs)
        arrays = [each.detach().numpy() for each in inputs]
        outputs = made.run(arrays) if _needs_outputs(made) else []
        for gradient in made.gradients:
            given = [
                arrays[take.number]
                if take.kind == FROM_INPUT
                else outputs[take.number]
                if take.kind == FROM_OUTPUT
                else gradients[take.number].detach().numpy()
                for take in gradient.takes
            ]
            for place, array in zip(gradient.gives, gradient.run(given), strict=True):
                if place >= 0:
                    result, before = torch.from_numpy(array), found[place]
                    found[place] = result if before is None else before + result
        return found


def _needs_outputs(made: Operator) -> bool:
    return any(take.kind == FROM_OUTPUT for gradient in made.gradients for take in gradient.takes)


def _torch_dtype(facts: TensorFacts) -> torch.dtype:
    return torch.from_numpy(np.zeros(1, facts.dtype)).dtype
