"""Operands of a captured op as JSON data, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.package.container import BadData
from tremula.frontends.torch.package.plain_data import Other, Tags, encode

_LAYOUTS = {"strided": torch.strided}
_MEMORY_FORMATS = {
    str(each).removeprefix("torch."): each
    for each in (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)
}


def encode_operand(numbers: Mapping[fx.Node, int]) -> Other:
    """What makes data of an op's operand, given the numbers of the nodes before it."""

    def other(value: Any) -> Any:
        if isinstance(value, fx.Node):
            return {"node": numbers[value]}
        if isinstance(value, list):  # graphs hold immutable lists
            return encode(list(value), other)
        if isinstance(value, torch.layout):
            return {"layout": str(value).removeprefix("torch.")}
        if isinstance(value, torch.memory_format):
            return {"memory_format": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device) and value.type == "cpu":
            return {"device": "cpu"}
        return None

    return other


def operand_tags(node: Callable[[Any], fx.Node]) -> Tags:
    """What reads the data that `encode_operand` made; `node` finds a node by its number."""
    return {
        "node": node,
        "layout": lambda payload: _known(_LAYOUTS, payload),
        "memory_format": lambda payload: _known(_MEMORY_FORMATS, payload),
        "device": lambda payload: torch.device(_known({"cpu": "cpu"}, payload)),
    }


def _known(table: Mapping[str, Any], payload: Any) -> Any:
    if not isinstance(payload, str) or payload not in table:
        raise BadData(f"its program names the unknown {str(payload)[:80]!r}")
    return table[payload]
