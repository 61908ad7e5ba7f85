"""CTC loss as ops of static shape: torch's own forward returns a table whose size depends on the longest target, which
a static graph cannot hold, so the backward computes it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tremula.frontends.torch.capture.function_mode import register_static_form
from tremula.frontends.torch.ops.library import add_op


def _table(
    log_probs: Tensor, targets: Tensor, lengths: Tensor, target_lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    _check_targets(targets, target_lengths, log_probs.shape[-1])
    loss, table = torch.ops.aten._ctc_loss.default(
        log_probs, targets.long(), lengths.tolist(), target_lengths.tolist(), blank, False
    )
    return loss, table


def _check_targets(targets: Tensor, target_lengths: Tensor, classes: int) -> None:
    """torch's kernel compares lengths with sizes, but takes the classes themselves on trust."""
    used = targets
    if targets.dim() == 2:
        columns = torch.arange(targets.shape[1])
        used = targets[columns < target_lengths.reshape(-1, 1)]
    wrong = used[(used < 0) | (used >= classes)]
    if len(wrong):
        raise IndexError(
            f"ctc_loss: class {int(wrong[0])} in the targets is out of range; there are {classes} classes."
        )


def _forward(
    log_probs: Tensor,
    targets: Tensor,
    lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    loss, _ = _table(log_probs.float(), targets, lengths, target_lengths, blank)
    if zero_infinity:
        loss = torch.where(loss.isinf(), torch.zeros_like(loss), loss)
    return loss.to(log_probs.dtype)


def _forward_fake(log_probs: Tensor, *_rest: Any) -> Tensor:
    return log_probs.new_empty(log_probs.shape[1])


def _backward(
    gradient: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    if gradient.shape != log_probs.shape[1:2]:
        raise ValueError(
            f"ctc_loss: a gradient of shape {tuple(gradient.shape)} is not one number for each sample."
        )
    wide = log_probs.float()
    loss, table = _table(wide, targets, lengths, target_lengths, blank)
    result = torch.ops.aten._ctc_loss_backward.default(
        gradient.float(),
        wide,
        targets.long(),
        lengths.tolist(),
        target_lengths.tolist(),
        loss,
        table,
        blank,
        zero_infinity,
    )
    return result.to(log_probs.dtype)  # type: ignore[no-any-return]


def _backward_fake(gradient: Tensor, log_probs: Tensor, *_rest: Any) -> Tensor:
    return torch.empty_like(log_probs)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(*inputs[:4])
    ctx.rest = inputs[4:]


def _gradients(ctx: Any, gradient: Tensor) -> Any:
    return (_loss_backward(gradient, *ctx.saved_tensors, *ctx.rest), *[None] * 5)


_ARGUMENTS = (
    "Tensor log_probs, Tensor targets, Tensor lengths, Tensor target_lengths, int blank, bool zero_infinity"
)
_loss_backward = add_op(
    f"ctc_loss_backward(Tensor gradient, {_ARGUMENTS}) -> Tensor", _backward, _backward_fake
)
_loss = add_op(
    f"ctc_loss({_ARGUMENTS}) -> Tensor",
    _forward,
    _forward_fake,
    backward=_gradients,
    setup_context=_setup,
)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """torch.nn.functional.ctc_loss, in ops of static shape."""
    batched = log_probs.dim() == 3
    if not batched:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    lengths = torch.as_tensor(input_lengths, dtype=torch.int64).reshape(-1)
    target_lengths = torch.as_tensor(target_lengths, dtype=torch.int64).reshape(-1)
    loss: Tensor = _loss(log_probs, targets, lengths, target_lengths, blank, zero_infinity)
    if reduction == "mean":
        return (loss / target_lengths.clamp(min=1).to(loss.dtype)).mean()
    if reduction == "sum":
        return loss.sum()
    return loss if batched else loss.squeeze(0)


register_static_form("ctc_loss", ctc_loss)
