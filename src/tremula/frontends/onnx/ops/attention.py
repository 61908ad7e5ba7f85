"""Attention and rotary embeddings, which current exporters write as one operator each."""

from __future__ import annotations

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.table import op


def _heads(tensor: Tensor, count: int) -> Tensor:
    """(batch, steps, heads * width) as (batch, heads, steps, width)."""
    if count < 1 or tensor.shape[-1] % count:
        raise Error(f"{tensor.shape[-1]} elements cannot be put into {count} heads.")
    return tensor.reshape(*tensor.shape[:2], count, -1).transpose(1, 2)


@op("Attention", since=23)
def attention(
    call: Call,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    lengths: Tensor | None = None,
) -> list[Tensor | None]:
    flat = query.dim() == 3
    if flat:
        query = _heads(query, call.integer("q_num_heads"))
        key, value = (_heads(each, call.integer("kv_num_heads")) for each in (key, value))
    before = 0 if past_key is None else past_key.shape[2]
    if past_key is not None and past_value is not None:
        key, value = torch.cat((past_key, key), 2), torch.cat((past_value, value), 2)
    present_key, present_value = key, value
    if query.shape[1] != key.shape[1]:
        shared = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
    # half of the scale on each side, as the operator is defined
    root = (call.number("scale") if call.has("scale") else query.shape[-1] ** -0.5) ** 0.5
    scores = torch.matmul(query * root, (key * root).transpose(-1, -2))
    seen = [scores]
    cap = call.number("softcap", 0.0)
    if cap:
        scores = cap * torch.tanh(scores / cap)
    seen.append(scores)
    bias = _bias(call, scores, mask, before, lengths)
    if bias is not None:
        scores = scores + bias
    seen.append(scores)
    weights = torch.softmax(scores.float(), -1).to(query.dtype)
    if bias is not None:  # a row that sees nothing has no weights
        weights = weights.masked_fill((scores == float("-inf")).all(-1, keepdim=True), 0.0)
    seen.append(weights)
    result = torch.matmul(weights, value)
    if flat:
        result = result.transpose(1, 2).flatten(2)
    return [result, present_key, present_value, seen[_shown(call)]]


def _shown(call: Call) -> int:
    """Which state of the scores is the fourth output: products, with the soft cap, with the mask, or weights."""
    mode = call.integer("qk_matmul_output_mode", 0)
    if not 0 <= mode < 4:
        raise Error(f"{mode} is not a qk_matmul_output_mode; choose from 0 to 3.")
    return mode


def _bias(
    call: Call, scores: Tensor, mask: Tensor | None, before: int, lengths: Tensor | None
) -> Tensor | None:
    """What is added to the scores: minus infinity where nothing is to be seen."""
    rows, columns = scores.shape[-2:]
    bias: Tensor | None = None
    hidden: Tensor | None = None
    if mask is not None:
        if mask.shape[-1] < columns:
            missing = (0, columns - mask.shape[-1])
            fill = False if mask.dtype is torch.bool else float("-inf")
            mask = torch.nn.functional.pad(mask, missing, value=fill)
        if mask.dtype is torch.bool:
            hidden = torch.logical_not(mask)
        else:
            bias = mask.to(scores.dtype)
    places = torch.arange(columns, device=scores.device)
    left, right = call.integer("left_window_size", -1), call.integer("right_window_size", -1)
    begins: Tensor | int = before
    if lengths is not None and not before:
        begins = (lengths.long() - rows).reshape(-1, 1, 1, 1)
    ahead = places - (torch.arange(rows, device=scores.device).unsqueeze(1) + begins)
    for there, unseen in (
        (call.flag("is_causal"), ahead > 0),
        (left >= 0, -ahead > left),
        (right >= 0, ahead > right),
    ):
        if there:
            hidden = unseen if hidden is None else hidden | unseen
    if lengths is not None:
        beyond = places >= lengths.long().reshape(-1, 1, 1, 1)
        hidden = beyond if hidden is None else hidden | beyond
    if hidden is None:
        return bias
    start = torch.zeros((), dtype=scores.dtype) if bias is None else bias
    return torch.where(hidden, torch.full((), float("-inf"), dtype=scores.dtype), start)


@op("RotaryEmbedding", since=23)
def rotary_embedding(
    call: Call, tensor: Tensor, cosines: Tensor, sines: Tensor, positions: Tensor | None = None
) -> Tensor:
    flat = tensor.dim() == 3
    if flat:
        tensor = _heads(tensor, call.integer("num_heads"))
    width = call.integer("rotary_embedding_dim", 0) or tensor.shape[-1]
    turned, rest = tensor[..., :width], tensor[..., width:]
    if positions is not None:
        cosines, sines = (each[positions.long()] for each in (cosines, sines))
    cosines, sines = (each[..., : width // 2].unsqueeze(1) for each in (cosines, sines))
    if call.flag("interleaved"):
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned.chunk(2, -1)
    real, imaginary = cosines * first - sines * second, sines * first + cosines * second
    if call.flag("interleaved"):
        joined = torch.stack((real, imaginary), -1).flatten(-2)
    else:
        joined = torch.cat((real, imaginary), -1)
    result = torch.cat((joined, rest), -1)
    return result.transpose(1, 2).flatten(2) if flat else result
