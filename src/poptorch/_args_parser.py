"""Arguments of a model call, bound to the signature of `forward`, checked and flattened. The compiled program keeps
those of the first call. Later calls must have the same structure, shapes and types.
"""

from __future__ import annotations

import abc
import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from tremula.errors import Error
from tremula.frontends.torch.structure import (
    custom_parsers,
    flattenTensorStructure,
    reconstructTensorStructure,
    register_parser,
)

from ._input_comparison import Mismatch, check_alike, check_keys, surely_alike
from ._logging import logger

_POSITIONAL = inspect.Parameter.VAR_POSITIONAL
_KEYWORD = inspect.Parameter.VAR_KEYWORD
_KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY

_FIRST_CALL = "of its first call"
_ADVICE = (
    "\nThe model was compiled for the inputs {origin}. To compile it for other inputs, call destroy() "
    "on it first, or wrap the model again with inferenceModel / trainingModel."
)

#: registered parsers by type, under the name by which they are known in the wild
custom_arg_parsers = custom_parsers


class ICustomArgParser(abc.ABC):
    """Interface of a parser for a user's own type."""

    @abc.abstractmethod
    def yieldTensors(self, struct: Any) -> Iterable[torch.Tensor]:
        """Yield every tensor of `struct`, always in the same order."""

    @abc.abstractmethod
    def reconstruct(self, original_structure: Any, tensor_iterator: Iterator[torch.Tensor]) -> Any:
        """Build an object like `original_structure` from tensors of the iterator, in that order."""


def registerCustomArgParser(arg_data_type: type, arg_parser: ICustomArgParser | None) -> None:
    """Use `arg_parser` for arguments and results of type `arg_data_type`; None removes the parser.

    Raises:
        Error: the parser does not implement `ICustomArgParser`.
    """
    if arg_parser is not None and not isinstance(arg_parser, ICustomArgParser):
        raise Error(
            f"arg_parser must inherit from ICustomArgParser, but {type(arg_parser).__name__} does not"
        )
    register_parser(arg_data_type, arg_parser)


class ArgsParser:
    """Binds arguments to the signature of a model's `forward` (or of a plain callable)."""

    class Args:
        """Bound arguments: positional ones with their names, and named ones."""

        # programs that bring a parser of their own fill the underscored names
        __slots__ = ("_arg_names", "_args", "_kwargs", "first_none", "origin")

        def __init__(self) -> None:
            self._args: list[Any] = []
            #: names of the positional arguments; those of `*rest` are `*rest[0]`, `*rest[1]`, ...
            self._arg_names: list[str] = []
            self._kwargs: dict[str, Any] = {}
            self.first_none: int | None = None
            #: where they are from, in the words of an error
            self.origin = _FIRST_CALL

        args = property(lambda self: self._args)
        arg_names = property(lambda self: self._arg_names)
        kwargs = property(lambda self: self._kwargs)

        def appendArg(self, arg: Any, name: str) -> None:
            """Add a positional argument."""
            self.args.append(arg)
            self.arg_names.append(name)

        def popArg(self) -> None:
            """Take the last positional argument away."""
            self.args.pop()
            self.arg_names.pop()

        def setNamedArg(self, name: str, arg: Any) -> None:
            """Add or replace a named argument."""
            self.kwargs[name] = arg

        def clone(self) -> ArgsParser.Args:
            """A copy whose lists can be changed; the arguments themselves are shared."""
            other = ArgsParser.Args()
            for name in self.__slots__:
                setattr(other, name, copy.copy(getattr(self, name)))
            return other

        def forEach(self, fn: Callable[[torch.Tensor], Any]) -> None:
            """Replace every tensor with the result of `fn`."""
            self._args = _mapped(self.args, fn)
            self._kwargs = _mapped(self.kwargs, fn)

        def forEachTensorMatchedAtLeastOnce(
            self,
            condition: Callable[[torch.Tensor], bool],
            doOnTrue: Callable[[torch.Tensor], Any] | None = None,
        ) -> bool:
            """Whether any tensor meets `condition`; those that do are replaced by `doOnTrue` of them."""
            if not any(condition(tensor) for tensor in self.asPackedFlatTuple()):
                return False
            if doOnTrue is not None:
                change = doOnTrue
                self.forEach(lambda tensor: change(tensor) if condition(tensor) else tensor)
            return True

        def asTuple(self) -> tuple[Any, ...]:
            """Positional arguments as a tuple."""
            return tuple(self.args)

        def asPackedFlatTuple(
            self, canonical_args: ArgsParser.Args | None = None
        ) -> tuple[torch.Tensor, ...]:
            """All tensors, flat; dictionaries of `canonical_args` (same structure) give the order of keys."""
            order = canonical_args
            tensors = flattenTensorStructure(self.args, None if order is None else order.args)
            if self.kwargs:
                tensors += flattenTensorStructure(self.kwargs, None if order is None else order.kwargs)
            return tuple(tensors)

        def validateInputs(self, inputs: ArgsParser.Args) -> None:
            """Check that `inputs` look like these arguments, which were compiled for; name the first that differs."""
            try:
                self._validate(inputs)
            except Mismatch as problem:
                raise Error(f"{problem}{_ADVICE.format(origin=self.origin)}") from None

        def _validate(self, inputs: ArgsParser.Args) -> None:
            if len(inputs.args) != len(self.args):
                raise Mismatch(
                    f"Number of positional arguments mismatch: expected {len(self.args)} arguments but got "
                    f"{len(inputs.args)}."
                )
            for name, compiled, given in zip(self.arg_names, self.args, inputs.args, strict=True):
                if not surely_alike(compiled, given):
                    check_alike(name, compiled, given)
            if self.kwargs or inputs.kwargs:
                check_keys("named arguments", self.kwargs, inputs.kwargs)
                for key, compiled in self.kwargs.items():
                    if not surely_alike(compiled, inputs.kwargs[key]):
                        check_alike(key, compiled, inputs.kwargs[key])

    def __init__(self, model: Any) -> None:
        if isinstance(model, torch.nn.Module):
            # The training wrapper of a model is a module around the user's own.
            inner: Any = model.model if type(model).__name__ == "OptimizerWrapper" else model
            signature = inspect.signature(inner.forward)
        elif callable(model):
            try:
                signature = inspect.signature(model)
            except ValueError:
                # Built-in functions such as those of torch.nn.functional may have none: take anything.
                anything = {"args": _POSITIONAL, "kwargs": _KEYWORD}
                signature = inspect.Signature([inspect.Parameter(*each) for each in anything.items()])
        else:
            raise TypeError(f"Expected a torch.nn.Module or a callable, got a {type(model).__name__}")
        self._parameters = parameters = list(signature.parameters.values())
        self._varnames = [parameter.name for parameter in parameters]
        kinds = {parameter.kind for parameter in parameters}
        self._takes_any_position = _POSITIONAL in kinds
        self._takes_any_name = _KEYWORD in kinds
        self._plain = not kinds & {_POSITIONAL, _KEYWORD, _KEYWORD_ONLY}
        self._warned_not_contiguous_input = False

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any], fast_path: bool = False) -> Args:
        """Bind the arguments of a call; `fast_path` leaves out the hints that are given at compilation."""
        bound = self.bound(args, kwargs)
        if not fast_path:
            _warn_about_dicts([*bound.args, *bound.kwargs.values()])
        self._make_contiguous(bound)
        return bound

    def bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Args:
        """The arguments of a call under the names of the signature, whatever they are."""
        bound = ArgsParser.Args()
        if self._plain and not kwargs and len(args) == len(self._parameters):
            bound._args = list(args)
            bound._arg_names = self._varnames.copy()
        else:
            self._check_names(args, kwargs)
            self._bind(bound, args, kwargs)
        return bound

    def _check_names(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        names = self._varnames
        if not self._takes_any_name:
            for name in kwargs:
                if name not in names:
                    raise AssertionError(f"{name} is not a valid parameter: the model takes {names}")
        if not self._takes_any_position:
            positions = [p.name for p in self._parameters if p.kind not in (_KEYWORD_ONLY, _KEYWORD)]
            if len(args) > len(positions):
                raise AssertionError(
                    f"Too many arguments provided: expected at most {len(positions)} positional ones "
                    f"({positions}) but got {len(args)}"
                )

    def _bind(self, bound: Args, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        by_name = False  # everything after *rest has to be passed by name
        for index, parameter in enumerate(self._parameters):
            name, kind = parameter.name, parameter.kind
            if kind is _POSITIONAL:
                for offset, value in enumerate(args[index:]):
                    bound.appendArg(value, f"*{name}[{offset}]")
                by_name = True
                continue
            if kind is _KEYWORD:
                taken = self._varnames[:index]
                for key, value in kwargs.items():
                    if key not in taken:
                        bound.setNamedArg(key, value)
                continue
            by_name = by_name or kind is _KEYWORD_ONLY
            if not by_name and index < len(args):
                if name in kwargs:
                    raise AssertionError(f"Parameter {name} was passed more than once")
                bound.appendArg(args[index], name)
                continue
            if name in kwargs:
                value = kwargs[name]
            elif parameter.default is not inspect.Parameter.empty:
                value = parameter.default
            else:
                raise Error(f"Mandatory parameter {name} missing: the model takes {self._varnames}")
            if by_name:
                bound.setNamedArg(name, value)
            else:
                bound.appendArg(value, name)

    def _make_contiguous(self, bound: Args) -> None:
        if all(tensor.is_contiguous() for tensor in bound.asPackedFlatTuple()):
            return
        bound.forEach(lambda tensor: tensor.contiguous())
        if not self._warned_not_contiguous_input:
            self._warned_not_contiguous_input = True
            logger.warning(
                "An input tensor is not contiguous, so each call makes a contiguous copy. Call .contiguous() when you "
                "create the tensor to avoid this."
            )


def _mapped(structure: Any, fn: Callable[[torch.Tensor], Any]) -> Any:
    return reconstructTensorStructure(structure, [fn(tensor) for tensor in flattenTensorStructure(structure)])


def _warn_about_dicts(values: list[Any]) -> None:
    work = values
    while work:
        value = work.pop()
        if isinstance(value, dict):
            logger.warning(
                "The inputs contain a dict. The real stack supports dicts only partly (constant keys, read only). "
                "Use tuples in programs that will run there."
            )
            return
        if isinstance(value, (tuple, list)):
            work.extend(value)
