"""Losses of classifications."""

from __future__ import annotations

from typing import Literal

from ..dtypes import float32
from ..tensor import Tensor, constant
from ._create import create, create_op, outputs_of

REDUCTION_TYPE = Literal["mean", "sum", "none"]


def _check(reduction: str) -> str:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"The reduction is 'mean', 'sum' or 'none', not {reduction!r}.")
    return reduction


def nll_loss(
    probs: Tensor,
    labels: Tensor,
    ignore_index: int | None = None,
    reduction: REDUCTION_TYPE = "mean",
    log_prob: bool = False,
) -> Tensor:
    """Negative logarithms of the probabilities of labels; `log_prob`: they are given already."""
    attributes = {"ignore_index": ignore_index, "reduction": _check(reduction), "log_prob": log_prob}
    return create("Nll", {"probs": probs, "labels": labels}, "loss", attributes)


def nll_loss_with_softmax_grad(
    probs: Tensor,
    labels: Tensor,
    loss_grad: float | Tensor = 1,
    ignore_index: int | None = None,
    reduction: REDUCTION_TYPE = "mean",
) -> tuple[Tensor, ...]:
    """The loss of the output of softmax, and the gradient of the input of softmax."""
    seed = loss_grad if isinstance(loss_grad, Tensor) else constant(loss_grad, float32)
    tensors = {"probs": probs, "labels": labels, "loss_grad": seed}
    attributes = {"ignore_index": ignore_index, "reduction": _check(reduction)}
    return outputs_of(create_op("NlllWithSoftmaxGradDirect", tensors, ["loss", "dx"], attributes))
