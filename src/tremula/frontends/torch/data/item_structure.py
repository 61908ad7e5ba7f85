"""How one item of a data set becomes a flat list of tensors, and back.

An item is a tensor, a flat list or tuple of tensors, a dictionary of tensors, or an object of a type for
which the user registered a parser. All items of a data set have the layout of its first one.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tremula.errors import Error
from tremula.frontends.torch.structure import parser_of
from tremula.invariants import present


class ItemKind(enum.Enum):
    TENSOR = "a tensor"
    SEQUENCE = "a list or tuple of tensors"
    MAPPING = "a dictionary of tensors"
    CUSTOM = "an object with a registered parser"


@dataclass(frozen=True)
class TensorSpec:
    """Shape and element type of one tensor of an item."""

    shape: tuple[int, ...]
    dtype: torch.dtype

    @classmethod
    def of(cls, tensor: torch.Tensor) -> TensorSpec:
        return cls(tuple(tensor.shape), tensor.dtype)


@dataclass(frozen=True)
class ItemLayout:
    """What the items of one data set look like. It travels from the worker process to the consumer."""

    kind: ItemKind
    specs: tuple[TensorSpec, ...]
    keys: tuple[Hashable, ...] = ()
    template: object = None  #: CUSTOM only: an item without data, from which the parser builds the others

    @classmethod
    def of(cls, item: object) -> ItemLayout:
        """The layout of `item`; an Error if it is nothing that can travel through shared memory."""
        kind, keys, tensors = _take_apart(item)
        template = None
        if kind is ItemKind.CUSTOM:
            parser = present(parser_of(item), "the parser of an item")
            # Only the attributes that are not tensors are needed on the other side.
            template = parser.reconstruct(item, iter([t.new_empty(0) for t in tensors]))
        return cls(kind, tuple(TensorSpec.of(t) for t in tensors), keys, template)

    def flatten(self, item: object) -> list[torch.Tensor]:
        """The tensors of a later item, checked for having this layout (shapes excepted)."""
        kind, keys, tensors = _take_apart(item)
        if kind is not self.kind:
            raise Error(f"The data set returned {kind.value}, but its first item was {self.kind.value}.")
        if kind is ItemKind.MAPPING:
            if set(keys) != set(self.keys):
                raise Error(
                    f"The data set returned a dictionary with the keys {list(keys)}, "
                    f"but its first item had {list(self.keys)}. All items must have the same keys."
                )
            by_key = dict(zip(keys, tensors, strict=True))
            tensors = [by_key[key] for key in self.keys]
        if len(tensors) != len(self.specs):
            raise Error(
                f"The data set returned {len(tensors)} tensors, but its first item had {len(self.specs)}."
            )
        return tensors

    def rebuild(self, tensors: Sequence[torch.Tensor]) -> object:
        """An item that holds `tensors`. Tuples come back as lists."""
        if self.kind is ItemKind.TENSOR:
            return tensors[0]
        if self.kind is ItemKind.MAPPING:
            return dict(zip(self.keys, tensors, strict=True))
        if self.kind is ItemKind.CUSTOM:
            parser = parser_of(self.template)
            if parser is None:
                raise Error(
                    f"No parser is registered for {type(self.template).__name__} any more: "
                    "keep it registered as long as the loader is in use."
                )
            return parser.reconstruct(self.template, iter(tensors))
        return list(tensors)


def _take_apart(
    item: object,
) -> tuple[ItemKind, tuple[Hashable, ...], list[torch.Tensor]]:
    keys: tuple[Hashable, ...] = ()
    parts: list[Any]
    if isinstance(item, torch.Tensor):
        kind, parts = ItemKind.TENSOR, [item]
    elif (parser := parser_of(item)) is not None:
        kind, parts = ItemKind.CUSTOM, list(parser.yieldTensors(item))
    elif isinstance(item, dict):
        kind, keys, parts = ItemKind.MAPPING, tuple(item), list(item.values())
    elif isinstance(item, (list, tuple)):
        kind, parts = ItemKind.SEQUENCE, list(item)
    else:
        raise Error(
            f"The data set returned an object of type {type(item).__name__}. Items must be a tensor, a flat "
            "list, tuple or dictionary of tensors, or of a type given to poptorch.registerCustomArgParser."
        )
    names: Sequence[Hashable] = keys or range(len(parts))
    for name, part in zip(names, parts, strict=True):
        if not isinstance(part, torch.Tensor):
            raise Error(
                f"Element {name!r} of the item is a {type(part).__name__}, not a tensor: "
                "items must be a flat container of tensors (convert numbers in the collate function)."
            )
        if part.layout != torch.strided or part.device.type != "cpu":
            raise Error(
                f"Element {name!r} of the item is a {part.layout} tensor on {part.device}: "
                "only dense tensors on the CPU can travel through shared memory."
            )
    return kind, keys, parts
