"""Options as text: configuration files and JSON. Neither can run code: a line is a call of an option method with
literals, enumerations, torch's floating types or the few classes that options take.
"""

from __future__ import annotations

import ast
import enum
import operator
import os
from collections.abc import Callable, Mapping
from typing import Any

import torch

from . import _strategies, enums
from ._options_groups import TensorLocationSettings

_ENUMS: Mapping[str, type[enum.Enum]] = {
    name: kind
    for name, kind in vars(enums).items()
    if isinstance(kind, type) and issubclass(kind, enum.Enum) and kind.__module__ == enums.__name__
}
_CLASSES: Mapping[str, type] = {
    "TensorLocationSettings": TensorLocationSettings,
    **{
        name: getattr(_strategies, name)
        for name in (
            "PipelinedExecution",
            "ShardedExecution",
            "SerialPhasedExecution",
            "ParallelPhasedExecution",
            "Stage",
            "Phase",
        )
    },
}
_TORCH_TYPES = ("float", "float32", "half", "float16")
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


class ConfigFileError(Exception):
    """A configuration file has a line that cannot be read or is not allowed."""


# Programs know it, and read it in tracebacks, as poptorch.options.ConfigFileError.
ConfigFileError.__module__ = "poptorch.options"


class _Refused(Exception):
    """An expression that is not allowed in a configuration file."""


def member(owner: Any, name: str) -> Any:
    """The public member `name` of an option object (or the PopART group, which is public in practice)."""
    if name.startswith("_") and name != "_Popart":
        raise AttributeError(f"Invalid attribute {name}: options as text can use public members only.")
    return getattr(owner, name)


def enum_member(text: str) -> Any:
    """`Class.Member` as a member of one of PopTorch's enumerations, or the text itself."""
    kind, _, name = text.partition(".")
    found = _ENUMS.get(kind)
    return found.__members__.get(name, text) if found is not None else text


def apply_json(options: Any, settings: Mapping[str, Any]) -> None:
    """Call one method per entry: {dotted name: argument or list of arguments}."""
    for dotted, value in settings.items():
        method = options
        for name in dotted.split("."):
            method = member(method, name)
        arguments = value if isinstance(value, list) else [value]
        method(*(enum_member(each) if isinstance(each, str) else each for each in arguments))


def apply_file(options: Any, path: str | os.PathLike[str]) -> None:
    """Apply a configuration file, one call per line; nothing is applied if any line cannot be read."""
    with open(path, encoding="utf-8") as file:
        filename = os.path.basename(file.name)
        texts = [line.strip() for line in file]
    # Line numbers in messages count the lines that say something, as programs expect.
    lines = [(number, text) for number, text in enumerate(texts, 1) if text and not text.startswith("#")]
    calls: list[tuple[str, int, ast.expr]] = []
    for counted, (number, text) in enumerate(lines, 1):
        where = f"line {counted} of {filename}"
        source = f"options.{text}"
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            detail = error.msg
            if "was never closed" in detail:
                detail = "unexpected EOF while parsing"
            raise ConfigFileError(
                f"SyntaxError at {where}: {detail}\n> {source}{_real(counted, number)}"
            ) from None
        statement = tree.body[0]
        if (
            len(tree.body) != 1
            or not isinstance(statement, ast.Expr)
            or not isinstance(statement.value, ast.Call)
        ):
            raise ConfigFileError(
                f"Not a call of an option method at {where}\n> {source}{_real(counted, number)}"
            )
        calls.append((source, number, statement.value))
    for counted, (source, number, expression) in enumerate(calls, 1):
        try:
            _evaluate(expression, options)
        except _Refused as refusal:
            raise ConfigFileError(
                f"Not allowed at line {counted} of {filename}: {refusal}\n> {source}{_real(counted, number)}"
            ) from None
        except Exception as error:
            error.add_note(f"in {filename}, line {number}: {source.removeprefix('options.')}")
            raise


def _real(counted: int, number: int) -> str:
    return "" if counted == number else f"\n(line {number} with empty lines and comments)"


def _evaluate(node: ast.expr, options: Any) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=elements):
            return [_evaluate(each, options) for each in elements]
        case ast.Tuple(elts=elements):
            return tuple(_evaluate(each, options) for each in elements)
        case ast.Set(elts=elements):
            return {_evaluate(each, options) for each in elements}
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = zip(keys, values, strict=True)
            return {_evaluate(k, options): _evaluate(v, options) for k, v in pairs if k is not None}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, options)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _ARITHMETIC:
            return _ARITHMETIC[type(operation)](_number(left, options), _number(right, options))
        case ast.Attribute():
            return _named(node, options)
        case ast.Call(func=function, args=arguments, keywords=keywords):
            return _call(function, arguments, keywords, options)
        case _:
            raise _Refused(f"`{ast.unparse(node)}` is neither a literal nor a member of poptorch")


def _number(node: ast.expr, options: Any) -> Any:
    value = _evaluate(node, options)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _Refused(f"`{ast.unparse(node)}` is not a number")
    return value


def _named(node: ast.Attribute, options: Any) -> Any:
    dotted = ast.unparse(node).split(".")
    match dotted:
        case ["poptorch", kind, name] | ["poptorch", "enums", kind, name] if kind in _ENUMS:
            return getattr(_ENUMS[kind], name)
        case ["torch", name] if name in _TORCH_TYPES:
            return getattr(torch, name)
        case _:
            raise _Refused(f"`{'.'.join(dotted)}` is not an enumeration of poptorch")


def _call(function: ast.expr, arguments: list[ast.expr], keywords: list[ast.keyword], options: Any) -> Any:
    positional = [_evaluate(argument, options) for argument in arguments]
    by_name = {
        keyword.arg: _evaluate(keyword.value, options) for keyword in keywords if keyword.arg is not None
    }
    if len(by_name) != len(keywords):
        raise _Refused("`**` is not allowed")
    return _callee(function, options)(*positional, **by_name)


def _callee(node: ast.expr, options: Any) -> Callable[..., Any]:
    """The method or class that is called: a member of the options, a known class, or a method of either."""
    match node:
        case ast.Attribute(value=ast.Name(id="poptorch"), attr=name) if name in _CLASSES:
            return _CLASSES[name]
        case ast.Attribute(value=owner, attr=name):
            found = member(_owner(owner, options), name)
            if not callable(found):
                raise _Refused(f"`{ast.unparse(node)}` is not a method")
            method: Callable[..., Any] = found
            return method
        case _:
            raise _Refused(f"`{ast.unparse(node)}` cannot be called")


def _owner(node: ast.expr, options: Any) -> Any:
    match node:
        case ast.Name(id="options"):
            return options
        case ast.Attribute(value=owner, attr=name):
            return member(_owner(owner, options), name)
        case ast.Call():
            return _evaluate(node, options)
        case _:
            raise _Refused(f"`{ast.unparse(node)}` is neither an option nor a member of poptorch")
