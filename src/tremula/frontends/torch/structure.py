"""Tensors inside Python containers: taking them out in a fixed order and putting others in their place.

Lists, tuples, named tuples, dictionaries and types with a registered parser are looked into; everything
else that is not a tensor stays as it is. This runs on every call of a model, hence the plain loops and the
checks of exact types before the general ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import torch

_Tensor = torch.Tensor
#: types of values that have no tensors in them and never change
LEAVES = frozenset({int, float, bool, str, type(None)})


class StructureParser(Protocol):
    """How to look into a type of the user's own."""

    def yieldTensors(self, struct: Any) -> Iterable[torch.Tensor]:  # noqa: N802 (a name of the public API)
        """The tensors in `struct`, always in the same order."""

    def reconstruct(self, original_structure: Any, tensor_iterator: Iterator[torch.Tensor]) -> Any:
        """A copy of `original_structure` with tensors taken from the iterator, in that order."""


class ParserRegistry(dict[type, StructureParser]):
    """Registered parsers by type. A subclass of a registered type is parsed like its base."""

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[type, StructureParser | None] = {}

    def __setitem__(self, key: type, value: StructureParser) -> None:
        super().__setitem__(key, value)
        self._found.clear()

    def __delitem__(self, key: type) -> None:
        super().__delitem__(key)
        self._found.clear()

    def find(self, kind: type) -> StructureParser | None:
        """The parser for objects of type `kind`: its own, or that of the first registered base."""
        try:
            return self._found[kind]
        except KeyError:
            pass
        parser = self.get(kind)
        if parser is None:
            parser = next((each for base, each in self.items() if issubclass(kind, base)), None)
        self._found[kind] = parser
        return parser


#: the parsers of this process
custom_parsers = ParserRegistry()


def register_parser(kind: type, parser: StructureParser | None) -> None:
    """Look into objects of type `kind` with `parser` from now on; None forgets the one there is."""
    if parser is not None:
        custom_parsers[kind] = parser
    elif kind in custom_parsers:
        del custom_parsers[kind]


def parser_of(value: Any) -> StructureParser | None:
    """The registered parser for `value`, or None."""
    return custom_parsers.find(type(value)) if custom_parsers else None


def _collect(value: Any, into: list[torch.Tensor]) -> None:
    kind = type(value)
    if custom_parsers:
        parser = custom_parsers.find(kind)
        if parser is not None:
            into.extend(parser.yieldTensors(value))
            return
    if kind is _Tensor:
        into.append(value)
    elif kind in LEAVES:
        return
    elif isinstance(value, (tuple, list)):
        for element in value:
            _collect(element, into)
    elif isinstance(value, dict):
        for element in value.values():
            _collect(element, into)
    elif isinstance(value, _Tensor):
        into.append(value)


def _collect_like(value: Any, model: Any, into: list[torch.Tensor]) -> None:
    if type(value) is _Tensor:
        _collect(value, into)
        return
    if parser_of(value) is None:
        if isinstance(value, dict) and isinstance(model, dict):
            for key, element in model.items():
                _collect_like(value[key], element, into)
            return
        if isinstance(value, (tuple, list)) and isinstance(model, (tuple, list)):
            for element, model_element in zip(value, model, strict=True):
                _collect_like(element, model_element, into)
            return
    _collect(value, into)


def flattenTensorStructure(tensors: Any, canonical_structure: Any = None) -> list[torch.Tensor]:  # noqa: N802
    """All tensors in `tensors`, depth first.

    Args:
        tensors: a tensor or any nesting of containers.
        canonical_structure: the same nesting; where given, its dictionaries decide the order of keys, so
            that a dictionary filled in another order gives the same list.
    """
    found: list[torch.Tensor] = []
    if canonical_structure is None:
        _collect(tensors, found)
    else:
        _collect_like(tensors, canonical_structure, found)
    return found


def _rebuild(value: Any, source: Iterator[Any], takes_part: Callable[[torch.Tensor], bool] | None) -> Any:
    kind = type(value)
    if custom_parsers:
        parser = custom_parsers.find(kind)
        if parser is not None:
            return parser.reconstruct(value, source)
    if isinstance(value, _Tensor):
        return next(source) if takes_part is None or takes_part(value) else value
    if kind in LEAVES:
        return value
    if isinstance(value, dict):
        return kind({key: _rebuild(element, source, takes_part) for key, element in value.items()})
    if isinstance(value, (tuple, list)):
        elements = [_rebuild(element, source, takes_part) for element in value]
        if kind is list:
            return elements
        # named tuples (and torch's own result tuples) differ in how they are built
        return kind(*elements) if hasattr(value, "_fields") else kind(elements)
    return value


def reconstructTensorStructure(  # noqa: N802
    structure: Any,
    values: Iterable[Any],
    filter_fn: Callable[[torch.Tensor], bool] | None = None,
) -> Any:
    """A copy of `structure` with its tensors replaced by `values`, in the order of flattening.

    Args:
        structure: a tensor or any nesting of containers; what is not a tensor is kept.
        values: the replacements.
        filter_fn: which tensors are replaced (all, when left out); the others are kept.
    """
    return _rebuild(structure, iter(values), filter_fn)


def rebuilder(structure: Any, takes_part: Callable[[torch.Tensor], bool]) -> Callable[[Sequence[Any]], Any]:
    """`reconstructTensorStructure` for one structure and any number of values, without a look at it each time.

    Args:
        structure: a tensor or any nesting of containers; what is not a tensor is kept.
        takes_part: which tensors are replaced; the others are kept.
    """
    kind = type(structure)
    flat: Callable[[Sequence[Any]], Any] | None = None
    parts = structure if kind is tuple or kind is list else (structure,)
    if all(isinstance(part, _Tensor) and takes_part(part) for part in parts):
        flat = kind if parts is structure else _first

    def rebuild(values: Sequence[Any]) -> Any:
        # A parser may be registered for any type at any time.
        if flat is None or custom_parsers:
            return _rebuild(structure, iter(values), takes_part)
        return flat(values)

    return rebuild


def _first(values: Sequence[Any]) -> Any:
    return values[0]
