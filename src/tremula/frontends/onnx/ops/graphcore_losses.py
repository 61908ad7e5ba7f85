"""Losses, and decoding of what a network with a CTC loss gives."""

from __future__ import annotations

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.table import GRAPHCORE, op
from tremula.frontends.torch.ops.ctc import beam_search
from tremula.frontends.torch.ops.ctc_loss import ctc_loss

#: a probability of 0 is taken as this, whose logarithm is finite
_LEAST = {torch.float16: 6e-8, torch.float32: 1.17549435e-38}
_BY_NUMBER = ("sum", "mean", "noreduction")


def _reduction(call: Call) -> str:
    given = call.node.attributes.get("reduction", "Mean")
    if isinstance(given, int) and 0 <= given < len(_BY_NUMBER):
        return _BY_NUMBER[given]
    name = str(given).lower()
    if name not in _BY_NUMBER:
        raise Error(f"'{given}' is not a reduction; choose from Sum, Mean and NoReduction.")
    return name


def _reduced(call: Call, losses: Tensor) -> Tensor:
    reduction = _reduction(call)
    if reduction == "mean" and not losses.is_floating_point():
        return torch.div(losses.sum(), losses.numel(), rounding_mode="trunc").to(losses.dtype)
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses


@op("IdentityLoss", domain=GRAPHCORE)
def identity_loss(call: Call, tensor: Tensor) -> Tensor:
    return _reduced(call, tensor)


@op("L1", domain=GRAPHCORE)
def l1_loss(call: Call, tensor: Tensor) -> Tensor:
    return _reduced(call, call.number("lambda") * tensor.abs())


@op("Nll", domain=GRAPHCORE)
def nll_loss(call: Call, probabilities: Tensor, labels: Tensor) -> Tensor:
    if probabilities.shape[:-1] != labels.shape:
        raise Error(f"the labels must have the shape {list(probabilities.shape[:-1])}.")
    logs = probabilities
    if not call.flag("inputIsLogProbability"):
        logs = probabilities.clamp_min(_LEAST.get(probabilities.dtype, 1e-38)).log()
    places = labels.long()
    ignored = call.integer("ignoreIndex") if call.has("ignoreIndex") else None
    counts = None
    if ignored is not None:
        counts = places != ignored
        places = torch.where(counts, places, torch.zeros_like(places))
    losses = -_picked(call, logs, places)
    if counts is None:
        return _reduced(call, losses)
    losses = torch.where(counts, losses, torch.zeros_like(losses))
    if _reduction(call) == "mean":
        # where all labels are ignored the loss is 0
        return losses.sum() / counts.sum().clamp_min(1).to(losses.dtype)
    return _reduced(call, losses)


def _picked(call: Call, logs: Tensor, places: Tensor) -> Tensor:
    """The values at the labels. On the device no class matches a label that there is none of, so nothing is picked."""
    if not call.settings.as_device:
        return logs.gather(-1, places.unsqueeze(-1)).squeeze(-1)
    known = (places >= 0) & (places < logs.shape[-1])
    picked = logs.gather(-1, torch.where(known, places, 0).unsqueeze(-1)).squeeze(-1)
    return torch.where(known, picked, torch.zeros_like(picked))


@op("Ctc", domain=GRAPHCORE)
def ctc(
    call: Call, log_probabilities: Tensor, targets: Tensor, lengths: Tensor, target_lengths: Tensor
) -> list[Tensor | None]:
    reduction = {"noreduction": "none"}.get(_reduction(call), _reduction(call))
    loss = ctc_loss(
        log_probabilities,
        targets.long(),
        lengths.long(),
        target_lengths.long(),
        call.integer("blank", 0),
        reduction,
        call.flag("zeroInfinity"),
    )
    return [loss, None]


@op("CtcBeamSearchDecoder", domain=GRAPHCORE)
def ctc_beam_search(call: Call, log_probabilities: Tensor, lengths: Tensor) -> list[Tensor]:
    probabilities, counts, labels = beam_search(
        log_probabilities,
        lengths.long(),
        call.integer("blank", 0),
        call.integer("beam_width", 100),
        call.integer("top_paths", 1),
    )
    return [probabilities, counts.to(torch.uint32), labels.to(torch.uint32)]
