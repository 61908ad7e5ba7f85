"""Ops of a listing, and the listing as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tremula.frontends.onnx.dtypes import type_of
from tremula.frontends.onnx.shapes import TensorType


@dataclass(frozen=True)
class ListedOp:
    """One op: its type, what it reads and makes, and what is said about it."""

    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


class Listing:
    """Ops in order, with the types of their tensors as far as they are known."""

    def __init__(self, types: Mapping[str, TensorType]) -> None:
        self.ops: list[ListedOp] = []
        self.types = dict(types)
        #: of the graphs inside of ops, by name
        self.inner: dict[str, Listing] = {}

    def add(
        self,
        type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attributes: Mapping[str, str] | None = None,
        *,
        like: str = "",
    ) -> None:
        """Append an op; its outputs are of the type of the tensor `like`, where they have none yet."""
        for name in outputs:
            if name not in self.types and like in self.types:
                self.types[name] = self.types[like]
        self.ops.append(ListedOp(type, tuple(inputs), tuple(outputs), "", dict(attributes or {})))

    def json(self, graph: str) -> str:
        """`{graph: [ops]}`; shapes are in brackets without commas, attributes are texts."""
        return json.dumps({graph: self._ops(), **{name: each._ops() for name, each in self.inner.items()}})

    def _ops(self) -> list[dict[str, object]]:
        return [self._op(each) for each in self.ops]

    def _op(self, op: ListedOp) -> dict[str, object]:
        return {
            "type": op.type,
            "name": op.name,
            "inputs": self._tensors(op.inputs),
            "outputs": self._tensors(op.outputs),
            "attributes": dict(op.attributes),
        }

    def _tensors(self, names: Sequence[str]) -> list[dict[str, str]]:
        found = []
        for index, name in enumerate(names):
            if not name:
                continue
            kind = self.types.get(name)
            shape = "" if kind is None else f"[{' '.join(map(str, kind.shape))}]"
            word = "" if kind is None else type_of(kind.dtype).name
            found.append({"index": str(index), "name": name, "type": word, "shape": shape})
        return found
