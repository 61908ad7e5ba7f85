"""A typed dictionary that can be frozen. The keys given at construction fix which options exist and of which type; a
model or data loader freezes the options it uses, copies are not frozen.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from typing import Any, Self

_FROZEN = (
    "Can't modify frozen Options: a model or a data loader already uses them. "
    "Set all options before that, or change a clone()."
)

#: paths whose frames are not taken for the place in the user's program
default_source_location_excludes = ["install/poptorch", "site-packages/torch", "site-packages/poptorch"]


class Freezable:
    """Something that refuses changes after `_freeze()`; a deep copy accepts them again."""

    _is_frozen: bool

    def _set_frozen(self, frozen: bool) -> None:
        if self.__dict__.get("_is_frozen") is frozen:
            return
        self.__dict__["_is_frozen"] = frozen
        for member in self.__dict__.values():
            if isinstance(member, Freezable):
                member._set_frozen(frozen)

    _freeze = functools.partialmethod(_set_frozen, True)
    _unfreeze = functools.partialmethod(_set_frozen, False)

    def checkIsFrozen(self, option: str | None = None) -> None:
        """Raise AttributeError if frozen (for any `option` but the frozen mark itself)."""
        if option != "_is_frozen" and self.__dict__.get("_is_frozen", False):
            raise AttributeError(_FROZEN)

    def _shown(self) -> Mapping[str, Any]:
        """What the text form lists."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._shown().items())})"
        )

    def __deepcopy__(self, memory: dict[int, Any]) -> Self:
        kind = type(self)
        other = kind.__new__(kind)
        memory[id(self)] = other
        other.__dict__.update(copy.deepcopy(self.__dict__, memory))
        other.__dict__["_is_frozen"] = False
        return other


class OptionsDict(Freezable):
    """A dictionary of options, read and written as attributes.

    Reading an option that does not exist raises AttributeError; setting one, or setting a value of another
    type, raises AssertionError. Attributes that begin with an underscore are ordinary ones, but have to be
    there when the constructor ends.
    """

    _values: dict[str, Any]

    def __init__(self, **default_values: Any) -> None:
        self.__dict__["_is_frozen"] = False
        # From here on the set of attributes is closed.
        self.__dict__["_values"] = default_values

    def exists(self, option: str) -> bool:
        """Whether there is an option of that name now."""
        return option in self._values

    def set(self, **kwargs: Any) -> Self:
        """Set options that exist, each to a value of its type. Returns the object."""
        self.checkIsFrozen()
        for option, value in kwargs.items():
            if option not in self._values:
                raise AssertionError(f"Invalid option {option}: the options are {sorted(self._values)}")
            expected = type(self._values[option])
            if not isinstance(value, expected):
                raise AssertionError(
                    f"Unexpected type {type(value).__name__} for option {option}: it takes {expected.__name__}"
                )
            self._values[option] = value
        return self

    def createOrSet(self, **kwargs: Any) -> Self:
        """Set options, making those that do not exist yet. Returns the object."""
        self.checkIsFrozen()
        for option, value in kwargs.items():
            if option in self._values:
                self.set(**{option: value})
            else:
                self._values[option] = value
        return self

    def deleteIfExists(self, option: str) -> None:
        """Forget an option that `createOrSet` made."""
        self.checkIsFrozen()
        self._values.pop(option, None)

    def update(self, other: dict[str, Any]) -> dict[str, Any]:
        """Put these options into `other`, which must have none of them, and return it."""
        common = self._values.keys() & other.keys()
        if common:
            raise AssertionError(f"Can't merge options: {sorted(common)} are set in two places")
        other.update(self._values)
        return other

    def toDict(self) -> dict[str, Any]:
        """A dictionary of these options."""
        return self.update({})

    def __call__(self, option: str) -> Any:
        return getattr(self, option)

    def __getattr__(self, option: str) -> Any:
        # Only called for what is not an ordinary attribute; `_values` itself may be missing in an object
        # that is being unpickled or built.
        values: Mapping[str, Any] = self.__dict__.get("_values", {})
        if option in values:
            return values[option]
        raise AttributeError(
            f"Invalid attribute {option}: {type(self).__name__} has no option with that name."
        )

    def __setattr__(self, option: str, value: Any) -> None:
        self.checkIsFrozen(option)
        if option.startswith("_"):
            closed = "_values" in self.__dict__
            if closed and option not in self.__dict__ and not hasattr(type(self), option):
                raise AttributeError(
                    f"Invalid private attribute {option}: {type(self).__name__} has {sorted(self.__dict__)}."
                )
            super().__setattr__(option, value)
        else:
            self.set(**{option: value})

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _shown(self) -> Mapping[str, Any]:
        return self._values
