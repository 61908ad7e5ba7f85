"""From the arguments of a call to the attributes of a node, with the types checked as the table has them."""

from __future__ import annotations

import enum
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tremula.frontends.onnx.build.signatures import Parameter, Signature

#: the last argument of every method, under its names
NAME_ARGUMENTS = ("debugContext", "debugPrefix", "debug_context")


class WrongArguments(TypeError):
    """A call that no form of a method takes."""

    def __init__(self, method: str, why: str, names: Sequence[str] = ()) -> None:
        self.why = why
        forms = f" The following argument types are supported: ({', '.join(names)})." if names else ""
        super().__init__(f"{method}(): incompatible function arguments.{forms} {why}")


class Bound:
    """The arguments of one call: names of tensors, how many outputs, attributes, and the name of the node."""

    def __init__(self, signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raises WrongArguments."""
        self._method = signature.method
        try:
            self._bind(signature, args, kwargs)
        except WrongArguments as problem:
            raise WrongArguments(self._method, problem.why, _order(signature)) from None

    def _bind(self, signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        given = self._by_name(signature, args, dict(kwargs))
        self.inputs: list[Any] = []
        if signature.takes_tensors:
            self.inputs = _texts(self._method, "args", given.pop("args", []))
        self.outputs = signature.outputs
        if signature.outputs is None:
            self.outputs = _integer(self._method, "num_outputs", given.pop("num_outputs"))
        self.name = given.pop("debugContext", "")
        self.attributes: dict[str, Any] = {}
        for parameter in signature.parameters:
            value = given.get(parameter.name, parameter.default)
            if value is None and (parameter.optional or not parameter.required):
                continue
            converted = _converted(self._method, parameter, value)
            if _is_default(parameter, value):
                continue
            self.attributes[parameter.name] = converted

    def _by_name(self, signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        order = _order(signature)
        if len(args) > len(order):
            raise WrongArguments(
                self._method, f"It takes {len(order)} arguments, and {len(args)} were given."
            )
        found = dict(zip(order, args, strict=False))
        for name in NAME_ARGUMENTS[1:]:
            if name in kwargs:
                kwargs["debugContext"] = kwargs.pop(name)
        for name, value in kwargs.items():
            if name not in order:
                raise WrongArguments(self._method, f"It has no argument {name}.")
            if name in found:
                raise WrongArguments(self._method, f"The argument {name} was given twice.")
            found[name] = value
        needed = [parameter.name for parameter in signature.parameters if parameter.required]
        needed += ["num_outputs"] if signature.outputs is None else []
        needed += ["args"] if signature.fewest_inputs else []
        missing = [name for name in needed if name not in found]
        if missing:
            raise WrongArguments(self._method, f"The argument {missing[0]} is missing.")
        return found


def _order(signature: Signature) -> list[str]:
    """The names of a method's arguments."""
    names = ["args"] if signature.takes_tensors else []
    names += ["num_outputs"] if signature.outputs is None else []
    attributes = [parameter.name for parameter in signature.parameters]
    place = len(attributes) if signature.before_name is None else signature.before_name
    return [*names, *attributes[:place], "debugContext", *attributes[place:]]


def _is_default(parameter: Parameter, value: Any) -> bool:
    """Whether an attribute is left out of the message: lists, numbers and texts that are as they would be without."""
    if parameter.kind in ("ints", "floats", "strings"):
        return parameter.default == [] and not len(value)
    return parameter.kind in ("float", "string") and not parameter.required and value == parameter.default


def _converted(method: str, parameter: Parameter, value: Any) -> Any:
    kind, name = parameter.kind, parameter.name
    if kind in ("int", "bool"):
        return _integer(method, name, value)
    if kind == "float":
        return _real(method, name, value)
    if kind == "ints":
        return [_integer(method, name, each) for each in _sequence(method, name, value)]
    if kind == "floats":
        return [_real(method, name, each) for each in _sequence(method, name, value)]
    if kind == "strings":
        return _texts(method, name, value)
    if kind in ("string", "type"):
        return _text(method, name, value)
    if kind == "character":
        return ord(_text(method, name, value))
    if kind == "tensor":
        if not isinstance(value, np.ndarray | np.generic | int | float | bool | list | tuple):
            raise WrongArguments(method, f"{name} must be an array, not {type(value).__name__}.")
        return np.asarray(value)
    if kind in ("graph", "group"):
        return value
    return _member(method, parameter, value)


def _member(method: str, parameter: Parameter, value: Any) -> Any:
    """A member of an enumeration, by its name."""
    if isinstance(value, str) and value == parameter.default:
        return value
    if not isinstance(value, enum.Enum) or type(value).__name__ != parameter.kind:
        wanted = parameter.kind
        raise WrongArguments(method, f"{parameter.name} must be a {wanted}, not {type(value).__name__}.")
    return value if parameter.optional else value.name


def _integer(method: str, name: str, value: Any) -> int:
    if isinstance(value, float | np.floating):
        raise WrongArguments(method, f"{name} must be an integer, not {type(value).__name__}.")
    try:
        return operator.index(value)
    except TypeError:
        raise WrongArguments(method, f"{name} must be an integer, not {type(value).__name__}.") from None


def _real(method: str, name: str, value: Any) -> float:
    if isinstance(value, str | bytes | enum.Enum):
        raise WrongArguments(method, f"{name} must be a number, not {type(value).__name__}.")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise WrongArguments(method, f"{name} must be a number, not {type(value).__name__}.") from None


def _sequence(method: str, name: str, value: Any) -> Iterable[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
        raise WrongArguments(method, f"{name} must be a list, not {type(value).__name__}.")
    return value


def _text(method: str, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise WrongArguments(method, f"{name} must be a text, not {type(value).__name__}.")
    return str(value)


def _texts(method: str, name: str, value: Any) -> list[str]:
    return [_text(method, f"each of {name}", each) for each in _sequence(method, name, value)]
