"""A tree of options that holds to what was declared: no new names, no other types, no categories that are values."""

from __future__ import annotations

import copy
import difflib
import json
import os
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, TypeVar

from tensorflow.python.platform import tf_logging

from tremula.frontends.tensorflow.config import declarations
from tremula.frontends.tensorflow.config.metadata import AttributeMetadata

Class = TypeVar("Class", bound=type)


class ConfigNode:
    """A category of options, or their root.

    Options are declared by `_declare`, or by plain assignments in the `__init__` of a subclass: its annotations are
    their types, the texts before them their descriptions. The root then calls `_finalize_base_config`.
    """

    @property
    def _known(self) -> dict[str, AttributeMetadata]:
        known: dict[str, AttributeMetadata] = self.__dict__.setdefault("_metadata_by_name", {})
        return known

    def _declare(self, name: str, metadata: AttributeMetadata, value: Any) -> None:
        self._known[name] = metadata
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python's own questions
            raise AttributeError(name)
        raise self._unknown(name)

    def _unknown(self, name: str) -> ValueError:
        near = difflib.get_close_matches(name, self._known)
        hint = f" Did you mean '{self._known[near[0]].name}'?" if near else ""
        return ValueError(f"'{name}' is not a valid attribute of this config.{hint}")

    def __setattr__(self, name: str, value: Any) -> None:
        metadata = self._known.get(name)
        if metadata is None:
            metadata = declarations.declared(type(self), name, value, isinstance(value, ConfigNode))
            if metadata is None:
                raise self._unknown(name)
            self._declare(name, metadata, value)
            return
        metadata.warn_if_deprecated()
        if metadata.is_category:
            raise TypeError(
                f"{metadata.name} is a category and cannot be assigned to. Assign to the options in it."
            )
        metadata.check_type(value)
        self.__dict__[name] = value

    def _categories(self) -> Iterator[ConfigNode]:
        return (self.__dict__[name] for name, metadata in self._known.items() if metadata.is_category)

    def _options(self) -> Iterator[tuple[ConfigNode, str, AttributeMetadata]]:
        """All options of the tree in order: who holds it, its own name, what is known of it."""
        for name, metadata in self._known.items():
            if metadata.is_category:
                yield from self.__dict__[name]._options()
            else:
                yield self, name, metadata

    def _get_full_name(self, name: str) -> str:
        return self._known[name].name

    def _finalize_base_config(self) -> None:
        """Give everything its full name, let categories deprecate what is in them, and write the class's text."""
        type(self).__doc__ = "".join(self._place("", 1, None))

    def _place(self, prefix: str, depth: int, deprecated_msg: str | None) -> Iterator[str]:
        for index, (name, metadata) in enumerate(self._known.items()):
            metadata._place(prefix, depth, deprecated_msg)
            if not name.startswith("_"):
                yield metadata._documentation(first=index == 0)
            if metadata.is_category:
                yield from self.__dict__[name]._place(metadata.name, depth + 1, metadata.deprecated_msg)

    def get_attribute_metadata(self, attr: str) -> AttributeMetadata:
        """What is known of an option or a category.

        Args:
            attr: its name, relative to this category.

        Raises:
            ValueError: there is none of that name.
        """
        node: Any = self
        *categories, name = attr.split(".")
        try:
            for category in categories:
                node = getattr(node, category)
            if not isinstance(node, ConfigNode) or name not in node._known:
                raise node._unknown(name) if isinstance(node, ConfigNode) else ValueError(f"no '{name}'")
        except ValueError as problem:
            raise ValueError(f"Could not get attribute metadata for '{attr}': {problem}") from None
        return node._known[name]

    def _to_protobuf(self, pb: Any) -> None:
        """Write this category and those in it to a message."""
        for category in self._categories():
            category._to_protobuf(pb)

    def to_dict(self) -> dict[str, Any]:
        """All options by their dotted names; enumerations as their numbers."""
        values = {metadata.name: node.__dict__[name] for node, name, metadata in self._options()}
        return {name: each.value if isinstance(each, Enum) else each for name, each in values.items()}

    def from_dict(self, dct: dict[str, Any]) -> None:
        """Take over the options of a dict as `to_dict` gives it; options that it lacks keep their values.

        Raises:
            TypeError, ValueError: a value does not fit; then nothing is taken over.
        """
        changes = []
        missing, unknown = [], set(dct)
        for node, name, metadata in self._options():
            unknown.discard(metadata.name)
            if metadata.name not in dct:
                missing.append(metadata.name)
                continue
            value, kind = dct[metadata.name], metadata.actual_type
            if kind is not None and issubclass(kind, Enum):
                value = kind(value)
            metadata.check_type(value)
            if value != node.__dict__[name]:
                changes.append((node, name, copy.deepcopy(value)))
        if missing:
            tf_logging.warn(f"{', '.join(missing)} didn't have a value: the existing value will be retained")
        if unknown:
            tf_logging.warn(f"Ignoring unknown options: {', '.join(sorted(unknown))}")
        for node, name, value in changes:
            setattr(node, name, value)

    def to_json(self) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict())

    def from_json(self, json_cfg: str) -> None:
        """Take over the options of a JSON text as `to_json` gives it."""
        self.from_dict(json.loads(json_cfg))

    def __str__(self) -> str:
        return os.linesep.join(
            f"{metadata.name} = {value if isinstance(value := node.__dict__[name], Enum) else repr(value)}"
            for node, name, metadata in self._options()
        )

    def __repr__(self) -> str:
        return os.linesep.join(
            [f"{type(self).__name__}:", *(f"  {line}" for line in str(self).split(os.linesep))]
        )


def deprecate_config_attribute(name: str, msg: str) -> Callable[[Class], Class]:
    """Decorate a class of options: `name` goes, and `msg` says why and what to use."""
    return deprecate_config_attributes({name: msg})


def deprecate_config_attributes(to_deprecate: Any) -> Callable[[Class], Class]:
    """Decorate a class of options: several go; a dict, or pairs, of names and messages."""

    def decorate(cls: Class) -> Class:
        declarations.deprecate(cls, dict(to_deprecate))
        return cls

    return decorate
