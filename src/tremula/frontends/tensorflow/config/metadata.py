"""What is known of one option or category of a configuration: its name, type, default, text, and whether it goes."""

from __future__ import annotations

import inspect
import typing
from typing import Any

from tensorflow.python.platform import tf_logging


def matches(value: Any, hint: Any) -> bool:
    """Whether `value` is of the type that `hint` describes, exactly: True is not an int."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return type(value) is hint
    if origin is typing.Union:
        return any(matches(value, each) for each in arguments)
    if not isinstance(value, origin):
        return False
    if origin is list and arguments:
        return all(matches(each, arguments[0]) for each in value)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return all(matches(each, arguments[0]) for each in value)
    if origin is tuple and arguments:
        return len(value) == len(arguments) and all(map(matches, value, arguments))
    return True


class AttributeMetadata:
    """Describes an option or a category.

    Args:
        name: from the root, dotted.
        doc: what it does.
        depth: how many names there are in `name`.
        default: of an option.
        deprecated_msg: why it goes, and what to use; None if it stays.
        hint: the type of an option; None for a category.
        shown_type: the type as users read it; made of `hint` without.
        effect: what becomes of it here: `honoured`, `recorded`, or `no effect: <why>`.
    """

    def __init__(
        self,
        name: str,
        doc: str = "",
        depth: int = 0,
        default: Any = None,
        deprecated_msg: str | None = None,
        hint: Any = None,
        shown_type: str | None = None,
        effect: str = "honoured",
    ) -> None:
        self._name = name
        self.__doc__ = inspect.cleandoc(doc) or "No description provided."
        self._depth = depth
        self._default = default
        self._deprecated_msg = deprecated_msg
        self._hint = hint
        self._type = shown_type
        if hint is not None and shown_type is None:
            self._type = hint.__name__ if isinstance(hint, type) else str(hint)
        self.effect = effect

    @property
    def name(self) -> str:
        """The dotted name, from the root of the configuration."""
        return self._name

    @property
    def type(self) -> str | None:
        """The type as text; None for a category."""
        return self._type

    @property
    def actual_type(self) -> Any:
        """The type itself, if it is a single one."""
        return self._hint if isinstance(self._hint, type) else None

    @property
    def default(self) -> Any:
        """The value that it has if nobody sets it."""
        return self._default

    @property
    def deprecated(self) -> bool:
        """Whether it goes."""
        return self._deprecated_msg is not None

    @property
    def deprecated_msg(self) -> str | None:
        """Why it goes; None if it stays."""
        return self._deprecated_msg

    @property
    def is_category(self) -> bool:
        """Whether it holds options rather than a value."""
        return self._hint is None

    def check_type(self, value: Any) -> None:
        """Raise a TypeError unless `value` is of exactly this option's type."""
        if self._hint is not None and not matches(value, self._hint):
            raise TypeError(f"Trying to set {self.name} to {value}, but it must be of type {self.type}")

    def warn_if_deprecated(self) -> None:
        """Log a warning if it goes."""
        if self.deprecated:
            tf_logging.warn(f"{self.name} has been deprecated: {self.deprecated_msg}")

    def _place(self, prefix: str, depth: int, deprecated_msg: str | None) -> None:
        """Take a place in a tree: below `prefix`, and deprecated if all of that is."""
        own = self._name.rpartition(".")[2]
        self._name = f"{prefix}.{own}" if prefix else own
        self._depth = depth
        if self._deprecated_msg is None:
            self._deprecated_msg = deprecated_msg

    def _documentation(self, first: bool) -> str:
        """Its entry in a page of Sphinx. Sphinx cuts the names of attributes that are the `first` of a deep category,
        unless their beginning is there twice.
        """
        shown = self.name
        if first and self._depth > 2:
            shown = f"{self.name.rsplit('.', 2)[0]}.{self.name}"
        margin = "   " * (self._depth + 1)
        lines = [f"{margin}.. _{self.name}:", f"{margin}.. py:attribute:: {shown}"]
        if not self.is_category:
            value = f'"{self.default}"' if isinstance(self.default, str) else self.default
            lines += [f"{margin}   :type: {self.type}", f"{margin}   :value: {value}"]
        lines.append(margin)
        if self.deprecated:
            lines += [f"{margin}   .. note::", "", f"{margin}      DEPRECATED: {self.deprecated_msg}", ""]
        lines += [f"{margin}   {line}" for line in (self.__doc__ or "").splitlines()]
        return "\n".join(lines) + "\n\n"
