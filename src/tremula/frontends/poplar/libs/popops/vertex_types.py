"""Vertex types of library functions that work in compute sets, by the names that the real library gives them.

The name says everything about a type, so an executable that names one gets it back.
"""

from __future__ import annotations

import re
from typing import Any

from tremula.frontends.poplar.codelets.codelet import Codelet
from tremula.frontends.poplar.libs.popops.arithmetic import converted
from tremula.frontends.poplar.libs.popops.operations import Operation
from tremula.frontends.poplar.libs.popops.reduce_vertices import ReduceCodelet
from tremula.frontends.poplar.libs.vertices import ElementCodelet
from tremula.frontends.poplar.types import BOOL, BY_LABEL, Type

#: cycles of a tile per element: a 64-bit store in each cycle; a cast loads, converts and stores; a transposition moves
#: single elements
_FILL_CYCLES, _CAST_CYCLES, _TRANSPOSE_CYCLES = 0.5, 1.0, 1.0

_NAME = re.compile(r"popops::(?P<family>\w+)<(?P<parameters>[\w: ,]*)>(?:\((?P<value>[-+.\w]+)\))?")


def fill(type: Type, value: Any) -> ElementCodelet:
    """Writes a constant."""
    name = f"popops::Fill<{type}>({value!r})"
    return ElementCodelet(name, type, [], lambda dtype: dtype.type(value), _FILL_CYCLES)


def cast(source: Type, target: Type) -> ElementCodelet:
    """Writes elements in another type."""
    return ElementCodelet(
        f"popops::Cast1D<{source},{target}>",
        target,
        [source],
        lambda dtype, values: converted(values, dtype),
        _CAST_CYCLES,
    )


def transpose(type: Type) -> ElementCodelet:
    """Writes elements in the order in which they come."""
    return ElementCodelet(
        f"popops::Transpose1D<{type}>", type, [type], lambda dtype, values: values, _TRANSPOSE_CYCLES
    )


def of_name(name: str) -> Codelet | None:
    """The vertex type of this name, or None if it is none of these."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    words = found["parameters"].split(",")
    types = [BY_LABEL.get(word) for word in words]
    match found["family"], types:
        case "Fill", [Type() as only] if found["value"] is not None:
            return _of_value(only, found["value"])
        case "Cast1D", [Type() as source, Type() as target]:
            return cast(source, target)
        case "Transpose1D", [Type() as only]:
            return transpose(only)
        case (("Reduce" | "ScaledReduce"), [_, Type() as source, Type() as out, *rest]):
            operation = _operation(words[0])
            scale = rest[0] if len(rest) == 2 else None
            if operation is not None and words[-1] in ("true", "false"):
                return ReduceCodelet(operation, source, out, words[-1] == "true", scale)
    return None


def _of_value(type: Type, text: str) -> Codelet | None:
    try:
        value = text == "True" if type is BOOL else float(text) if type.is_floating else int(text)
    except ValueError:
        return None
    return fill(type, value)


def _operation(word: str) -> str | None:
    """`popops::ReduceSquareAdd` as an operation's name."""
    inner = re.sub(r"(?<!^)(?=[A-Z])", "_", word.removeprefix("popops::Reduce")).upper()
    return inner if inner in Operation.__members__ else None
