"""Python implementations of the small custom ops that PopTorch's own test-suite brings as C++.

A plug-in: name it in TREMULA_CUSTOM_OPS (with this folder on PYTHONPATH) to run those tests. Also an
example of how to register an op with and without a gradient of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tremula.custom_ops import register

_EXPECTED = {
    "float_one": 1.0,
    "float_minus_two": -2.0,
    "int_zero": 0,
    "int_minus_five": -5,
    "floats_one_two_three": [1.0, 2.0, 3.0],
    "floats_minus_one_two_three": [-1.0, -2.0, -3.0],
    "ints_one_two_three": [1, 2, 3],
    "ints_minus_one_two_three": [-1, -2, -3],
    "a_string": "string with quotes and slash \" ' \\ end",
    "strs": ["\x01", "\x02", "\x03"],
}


def cube(x: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x cubed, with and without a bias."""
    return x**3 + bias, x**3


def cube_gradient(
    gradients: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], attributes: Mapping[str, Any]
) -> list[torch.Tensor]:
    """As the C++ op has it: only the first result has a gradient."""
    return [3 * inputs[0] ** 2 * gradients[0], gradients[0].sum_to_size(inputs[1].shape)]


def leaky_relu(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """Slope `alpha` below zero."""
    return torch.nn.functional.leaky_relu(x, alpha)


def add_scalar(x: torch.Tensor, scalar: float) -> torch.Tensor:
    """x plus a number."""
    return x + scalar


def add_vector(x: torch.Tensor, vec: Sequence[float]) -> torch.Tensor:
    """x plus a vector."""
    return x + torch.tensor(vec, dtype=x.dtype)


def add_vector_scale(x: torch.Tensor, vec: Sequence[float], scalar: float) -> torch.Tensor:
    """x plus a vector, times a number."""
    return add_vector(x, vec) * scalar


def reduce(x: torch.Tensor, reduction: str) -> torch.Tensor:
    """Sum or mean of x."""
    return {"sum": torch.sum, "mean": torch.mean}[reduction](x)


def reduce_three(
    x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, reductions: Sequence[str]
) -> list[torch.Tensor]:
    """A reduction for each of three tensors."""
    return [reduce(tensor, name) for tensor, name in zip((x, y, z), reductions, strict=True)]


def many_attributes(x: torch.Tensor, **attributes: Any) -> torch.Tensor:
    """x plus one if every attribute has arrived as it should."""
    return x + 1 if attributes == _EXPECTED else x.clone()


register("com.acme", "Cube", cube, backward=cube_gradient)
register("com.acme", "LeakyRelu", leaky_relu)
for _type in ("Float", "Int"):
    register("test.poptorch", f"AddScalar{_type}", add_scalar)
    register("test.poptorch", f"AddScalarVec{_type}", add_vector)
register("test.poptorch", "AddVecScalarMulFloat", add_vector_scale)
register("test.poptorch", "ReduceOp", reduce)
register("test.poptorch", "ThreeReduceOp", reduce_three)
register("test.poptorch", "ManyAttributeOp", many_attributes)
