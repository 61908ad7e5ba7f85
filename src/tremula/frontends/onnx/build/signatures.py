"""What a builder offers: its operators with their versions, numbers of inputs and outputs, and attributes.

The table is `signatures.txt`; nothing about an operator is written down anywhere else.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tremula.errors import Error

_TABLE = Path(__file__).with_name("signatures.txt")
#: where the name of the node is an argument in the middle
_NAME = "debugContext:name"
#: kinds of attributes that hold numbers or texts; all others are names of enumerations
PLAIN = frozenset(
    {
        "bool",
        "character",
        "float",
        "floats",
        "graph",
        "group",
        "int",
        "ints",
        "string",
        "strings",
        "tensor",
        "type",
    }
)


@dataclass(frozen=True)
class Parameter:
    """An attribute as an argument. `optional`: None leaves it out."""

    name: str
    kind: str
    required: bool
    default: Any = None
    optional: bool = False


@dataclass(frozen=True)
class Signature:
    """How one operator is added to a graph. `outputs` is None where the caller says how many."""

    domain: str
    method: str
    type: str
    fewest_inputs: int
    #: None: as many as you like
    most_inputs: int | None
    outputs: int | None
    #: where the caller says how many; None: as many as they like
    most_outputs: int | None
    parameters: tuple[Parameter, ...]
    #: how many of the parameters come before the name of the node; None: all
    before_name: int | None = None

    @property
    def takes_tensors(self) -> bool:
        return self.most_inputs != 0

    def check_arity(self, given: int) -> None:
        """Refuse a number of inputs that the operator does not have."""
        if not self.fewest_inputs:
            return
        most = math.inf if self.most_inputs is None else self.most_inputs
        if not self.fewest_inputs <= given <= most:
            raise Error(
                f"{self.type} has invalid number of inputs {given}. Must be between {self.fewest_inputs}..{most}"
            )

    def check_outputs(self, wanted: int) -> None:
        """Refuse a number of outputs that the operator does not have."""
        if self.most_outputs is not None and wanted > self.most_outputs:
            raise Error(
                f"{self.type} has an invalid number of outputs {wanted}. Must be between 0..{self.most_outputs}"
            )


def signatures(domain: str, opset: int) -> Mapping[str, Signature]:
    """The operators of a domain in one operator set, by the method that adds them."""
    return {
        signature.method: signature
        for first, last, signature in _rows()
        if signature.domain == domain and first <= opset <= last
    }


@functools.cache
def _rows() -> tuple[tuple[int, int, Signature], ...]:
    found = []
    domain = ""
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if len(words) == 1:
            domain = words[0]
            continue
        method, opsets, kind, inputs, outputs, *attributes = words
        first, last = (int(each) for each in opsets.split(".."))
        fewest, _, most = inputs.partition("..")
        limit = None if most == "inf" else int(most or fewest)
        signature = Signature(
            domain,
            method,
            kind,
            int(fewest),
            limit,
            None if outputs.startswith("*") else int(outputs),
            int(outputs[1:]) if outputs.startswith("*") and outputs[1:] else None,
            tuple(_parameter(each) for each in attributes if each != _NAME),
            attributes.index(_NAME) if _NAME in attributes else None,
        )
        found.append((first, last, signature))
    return tuple(found)


def _parameter(text: str) -> Parameter:
    name, _, rest = text.partition(":")
    kind, sign, default = rest.partition("=")
    if not sign:
        return Parameter(name, kind, required=True)
    if default == "null":
        return Parameter(name, kind, required=False, optional=True)
    default = default.replace("\\s", " ")
    if kind in ("string", "character", "type") or kind not in PLAIN:
        return Parameter(name, kind, required=False, default=default)
    return Parameter(name, kind, required=False, default=json.loads(default))
