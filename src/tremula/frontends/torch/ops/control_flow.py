"""Loops, which are unrolled, and branches, which compute both bodies and select; outside a capture ordinary Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tremula.frontends.torch.capture.context import Capture, current
from tremula.frontends.torch.errors import compile_error

Body = Callable[..., Any]


def _require_inference(capture: Capture, what: str) -> None:
    if capture.training:
        raise compile_error(
            f"{what} is only supported in inference. Unroll it in Python, or wrap the model with "
            "poptorch.inferenceModel.",
        )


def _listed(results: Any) -> list[torch.Tensor]:
    return list(results) if isinstance(results, list | tuple) else [results]


def for_loop(count: int, body: Body, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """`body` applied `count` times, each time to its previous results; operands are passed by value."""
    capture = current()
    if capture is not None:
        _require_inference(capture, "poptorch.for_loop()")
    values = list(inputs)
    for _ in range(count):
        values = _listed(body(*(value.clone() for value in values)))
        if len(values) != len(inputs):
            raise compile_error(
                f"the body of poptorch.for_loop takes {len(inputs)} tensors but returns {len(values)}: it "
                "must return as many as it takes, for they are its next inputs.",
            )
    return values


def cond(
    condition: torch.Tensor,
    then_body: Body,
    then_inputs: Sequence[torch.Tensor],
    else_body: Body,
    else_inputs: Sequence[torch.Tensor],
) -> list[torch.Tensor]:
    """The results of `then_body` where `condition` holds and of `else_body` where not."""
    capture = current()
    if capture is None:
        return _listed(then_body(*then_inputs) if condition else else_body(*else_inputs))
    _require_inference(capture, "poptorch.cond()")
    if condition.numel() != 1:
        raise compile_error(
            f"the condition of poptorch.cond must be a single value; it has shape {list(condition.shape)}.",
        )
    chosen = condition.clone().reshape(()).to(torch.bool)
    then_results = _listed(then_body(*(tensor.clone() for tensor in then_inputs)))
    else_results = _listed(else_body(*(tensor.clone() for tensor in else_inputs)))
    if len(then_results) != len(else_results):
        raise compile_error(
            f"the branches of poptorch.cond return {len(then_results)} and {len(else_results)} tensors: they "
            "must return the same number.",
        )
    for position, (one, other) in enumerate(zip(then_results, else_results, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            raise compile_error(
                f"result {position} of the branches of poptorch.cond differs: {list(one.shape)} {one.dtype} "
                f"and {list(other.shape)} {other.dtype}. Shape and type must be the same.",
            )
    return [torch.where(chosen, one, other) for one, other in zip(then_results, else_results, strict=True)]
