"""Custom ops: Python implementations of ops that programs bring as C++ for the device. `TREMULA_CUSTOM_OPS` lists
modules that are imported (executed) when the first custom op is captured, and call `register`.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tremula.errors import Error
from tremula.frontends.torch.errors import compile_error
from tremula.frontends.torch.ops.host_call import (
    detached_results,
    differentiating,
    empty_like,
    outside_capture,
)
from tremula.frontends.torch.ops.library import add_op
from tremula.program.source import user_line

MODULES_VARIABLE = "TREMULA_CUSTOM_OPS"

#: takes the input tensors and the attributes as keyword arguments, gives one tensor or several
Forward = Callable[..., Any]
#: takes gradients of the outputs, inputs and attributes; gives a gradient (or None) for every input
Backward = Callable[[Sequence[torch.Tensor], Sequence[torch.Tensor], Mapping[str, Any]], Sequence[Any]]

_FLOAT32 = torch.finfo(torch.float32)


@dataclass(frozen=True)
class CustomOp:
    """A registered implementation."""

    domain: str
    name: str
    forward: Forward
    backward: Backward | None = None
    #: gives tensors like the results without computing them, if that is possible
    infer: Forward | None = None


_registry: dict[tuple[str, str], CustomOp] = {}
_imported: set[str] = set()


def register(domain: str, name: str, forward: Forward, *, backward: Backward | None = None) -> None:
    """Make the implementation of a custom op known; an earlier one of the same name is replaced.

    Args:
        domain: domain that programs pass to `poptorch.custom_op`, such as "com.acme".
        name: name of the op in that domain.
        forward: called as `forward(*inputs, **attributes)` on real tensors.
        backward: called as `backward(output_gradients, inputs, attributes)`; must give one gradient or None
            per input. Without it, torch differentiates `forward`.
    """
    _registry[domain, name] = CustomOp(domain, name, forward, backward)


def unregister(domain: str, name: str) -> None:
    """Forget an implementation."""
    _registry.pop((domain, name), None)


def is_registered(domain: str, name: str) -> bool:
    """Whether an op has an implementation here."""
    _import_modules()
    return (domain, name) in _registry or compiled_op(domain, name) is not None


def compiled_op(domain: str, name: str) -> CustomOp | None:
    """An op that a C++ library has registered which the program has loaded."""
    from tremula.frontends.torch.ops import compiled

    if not compiled.is_registered(domain, name):
        return None
    op = compiled.CompiledOp(domain, name)
    return CustomOp(domain, name, op.forward, op.backward, op.infer)


def find(domain: str, name: str) -> CustomOp:
    """The implementation of an op."""
    _import_modules()
    found = _registry.get((domain, name)) or compiled_op(domain, name)
    if found is None:
        line = user_line() or "an unknown line"
        raise Error(
            f"the custom op {name} of domain {domain}, used at {line}, has no implementation for this host. "
            "Register a Python one with "
            f'tremula.custom_ops.register("{domain}", "{name}", forward), in the program or in a module '
            f"named by the environment variable {MODULES_VARIABLE}; or compile its C++ library against the headers "
            "of `tremula cpp enable` and load it (ctypes.cdll.LoadLibrary).",
            type="popart_exception",
        )
    return found


def encode_attributes(attributes: Mapping[str, Any] | None) -> str:
    """Attributes as the text that the op carries; floats have to fit the device's 32 bits."""
    values = dict(attributes or {})
    for value in values.values():
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, float):
                _check_range(item)
    return json.dumps(values)


def _check_range(value: float) -> None:
    for excess, wrong in (("low", value < _FLOAT32.min), ("high", value > _FLOAT32.max)):
        if wrong and value not in (float("inf"), float("-inf")):
            raise compile_error(
                f"{value:g} is too {excess} for a Popart float attribute. The limits are {_FLOAT32.min:g} "
                f"and {_FLOAT32.max:g}.",
            )


def call(inputs: Sequence[torch.Tensor], domain: str, name: str, attributes: str) -> list[torch.Tensor]:
    """Record (or, on real tensors, compute) a custom op; `attributes` comes from `encode_attributes`."""
    _check_call(find(domain, name), inputs, json.loads(attributes))
    return list(custom(list(inputs), domain, name, attributes))


def _check_call(op: CustomOp, inputs: Sequence[torch.Tensor], attributes: Mapping[str, Any]) -> None:
    """Refuse inputs and attributes that the implementation does not take, or that it lacks."""
    try:
        signature = inspect.signature(op.forward)
    except ValueError:  # written in C, without a description
        return
    try:
        signature.bind(*inputs, **attributes)
    except TypeError as problem:
        known = list(signature.parameters)[len(inputs) :]
        unknown = [name for name in attributes if name not in known]
        said = f"has no attribute {', '.join(unknown)}" if unknown else f"cannot be called so: {problem}"
        raise Error(
            f"the custom op {op.name} of domain {op.domain}, used at {user_line() or 'an unknown line'}, {said}. "
            f"Its implementation for this host takes the attributes: {', '.join(known) or 'none'}.",
            type="popart_exception",
        ) from problem


def _import_modules() -> None:
    for module in filter(None, re.split(r"[,:\s]+", os.environ.get(MODULES_VARIABLE, ""))):
        if module in _imported:
            continue
        try:
            importlib.import_module(module)
        except ImportError as problem:
            raise Error(
                f"{MODULES_VARIABLE} names the module {module}, which cannot be imported: {problem}. Put its "
                "folder on PYTHONPATH or correct the variable."
            ) from problem
        _imported.add(module)


def _results(op: CustomOp, inputs: Sequence[torch.Tensor], attributes: str) -> list[torch.Tensor]:
    results = op.forward(*inputs, **json.loads(attributes))
    return detached_results(results, inputs, f"the custom op {op.name} of domain {op.domain}")


def _forward(inputs: list[torch.Tensor], domain: str, name: str, attributes: str) -> list[torch.Tensor]:
    with torch.no_grad():
        return _results(find(domain, name), inputs, attributes)


def _fake(inputs: list[torch.Tensor], domain: str, name: str, attributes: str) -> list[torch.Tensor]:
    op = find(domain, name)
    with outside_capture():
        zeros = [torch.zeros(tensor.shape, dtype=tensor.dtype) for tensor in inputs]
        if op.infer is None:
            results = _results(op, zeros, attributes)
        else:
            results = op.infer(*zeros, **json.loads(attributes))
    return [empty_like(result) for result in results]


def _gradients(
    gradients: list[torch.Tensor],
    inputs: list[torch.Tensor],
    domain: str,
    name: str,
    attributes: str,
    wanted: list[bool],
) -> list[torch.Tensor]:
    """Gradients of the wanted inputs, in order."""
    op = find(domain, name)
    if op.backward is not None:
        given = list(op.backward(gradients, inputs, json.loads(attributes)))
        if len(given) != len(inputs):
            raise Error(
                f"the backward of custom op {name} of domain {domain} gave {len(given)} gradients for "
                f"{len(inputs)} inputs."
            )
        found: Sequence[Any] = [gradient for gradient, want in zip(given, wanted, strict=True) if want]
    else:
        found = _differentiate(op, gradients, inputs, attributes, wanted)
    targets = [tensor for tensor, want in zip(inputs, wanted, strict=True) if want]
    filled = [
        torch.zeros_like(target) if gradient is None else gradient
        for gradient, target in zip(found, targets, strict=True)
    ]
    return detached_results(filled, [*gradients, *inputs], f"the backward of custom op {name}")


def _differentiate(
    op: CustomOp,
    gradients: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    attributes: str,
    wanted: Sequence[bool],
) -> Sequence[torch.Tensor | None]:
    with differentiating():
        leaves = [
            tensor.detach().requires_grad_(want and tensor.is_floating_point())
            for tensor, want in zip(inputs, wanted, strict=True)
        ]
        results = op.forward(*leaves, **json.loads(attributes))
        flat = list(results) if isinstance(results, list | tuple) else [results]
        pairs = [(out, grad) for out, grad in zip(flat, gradients, strict=True) if out.requires_grad]
        targets = [leaf for leaf, want in zip(leaves, wanted, strict=True) if want]
        if not pairs:
            return [None] * len(targets)
        outputs, seeds = zip(*pairs, strict=True)
        return torch.autograd.grad(outputs, targets, seeds, allow_unused=True)


def _fake_gradients(_gradients: Any, inputs: list[torch.Tensor], *rest: Any) -> list[torch.Tensor]:
    wanted = rest[-1]
    return [torch.empty_like(tensor) for tensor, want in zip(inputs, wanted, strict=True) if want]


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: list[torch.Tensor]) -> None:
    tensors, ctx.domain, ctx.name, ctx.attributes = inputs
    ctx.wanted = [tensor.requires_grad for tensor in tensors]
    ctx.outputs = [(tensor.shape, tensor.dtype) for tensor in output]
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, gradients: Sequence[torch.Tensor | None]) -> tuple[Any, ...]:
    seeds = [
        torch.zeros(shape, dtype=dtype) if gradient is None else gradient
        for gradient, (shape, dtype) in zip(gradients, ctx.outputs, strict=True)
    ]
    found = iter(
        custom_gradient(seeds, list(ctx.saved_tensors), ctx.domain, ctx.name, ctx.attributes, ctx.wanted)
    )
    return [next(found) if want else None for want in ctx.wanted], None, None, None


custom_gradient = add_op(
    "custom_gradient(Tensor[] gradients, Tensor[] inputs, str domain, str name, str attributes, "
    "bool[] wanted) -> Tensor[]",
    _gradients,
    _fake_gradients,
)
custom = add_op(
    "custom(Tensor[] inputs, str domain, str name, str attributes) -> Tensor[]",
    _forward,
    _fake,
    backward=_backward,
    setup_context=_setup_context,
)
