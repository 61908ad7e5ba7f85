"""A question: lists of systems, IPUs, batch sizes, precisions; every combination is one setting.

A value that is left out is the program's own (cases.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from tremula.errors import Error

#: precisions: type of weights and activations, partial sums (None: the program's own)
PRECISIONS: Mapping[str, tuple[str, str | None]] = {
    "fp32": ("fp32", None),
    "fp16": ("fp16", None),
    "fp16.32": ("fp16", "fp32"),
    "fp16.16": ("fp16", "fp16"),
}
RECOMPUTE = ("none", "all", "norms")
#: combinations that one question may have
MOST_SETTINGS = 500
#: fields whose values are words out of a list
_WORDS: Mapping[str, tuple[str, ...]] = {
    "precision": tuple(PRECISIONS),
    "recompute": RECOMPUTE,
    "mode": ("weak", "strong"),
}


@dataclass(frozen=True)
class Setting:
    """One combination; None: as the program has it, or whatever is best."""

    #: name of a chip or system; None: this machine's system, or a larger one of its chip
    target: str | None = None
    #: IPUs of all replicas together
    ipus: int | None = None
    #: IPUs of one replica; if given, the model is cut anew
    stages: int | None = None
    replicas: int | None = None
    micro_batch: int | None = None
    accumulation: int | None = None
    device_iterations: int | None = None
    precision: str | None = None
    recompute: str | None = None


@dataclass(frozen=True)
class Question:
    """Values for each field of a setting."""

    target: tuple[str | None, ...] = (None,)
    ipus: tuple[int | None, ...] = (None,)
    stages: tuple[int | None, ...] = (None,)
    replicas: tuple[int | None, ...] = (None,)
    micro_batch: tuple[int | None, ...] = (None,)
    accumulation: tuple[int | None, ...] = (None,)
    device_iterations: tuple[int | None, ...] = (None,)
    precision: tuple[str | None, ...] = (None,)
    recompute: tuple[str | None, ...] = (None,)

    def __post_init__(self) -> None:
        count = 1
        for each in fields(self):
            values = getattr(self, each.name)
            if not values:
                raise Error(f"{each.name} has no value; give one or leave it out.")
            for value in values:
                _check(each.name, value)
            count *= len(values)
        self._check_count(count)

    def _check_count(self, count: int) -> None:
        if count > MOST_SETTINGS:
            raise Error(
                f"The lists make {count:,} combinations, but at most {MOST_SETTINGS} are estimated at once. Give "
                "fewer values."
            )

    def settings(self) -> list[Setting]:
        """Every combination, in the order in which the fields are listed here, the last changing fastest."""
        names = [each.name for each in fields(Setting)]
        values = [getattr(self, name) for name in names]
        return [Setting(**dict(zip(names, each, strict=True))) for each in itertools.product(*values)]

    @classmethod
    def of(cls, **values: Any) -> Self:
        """From single values and lists; None and missing ones are the program's own."""
        known = {each.name for each in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise Error(f"Unknown setting {', '.join(unknown)}; the settings are {', '.join(sorted(known))}.")
        return cls(
            **{
                name: tuple(value) if isinstance(value, list | tuple) else (value,)
                for name, value in values.items()
                if value is not None
            }
        )


def _check(name: str, value: Any) -> None:
    if value is None or name == "target":
        return  # the catalogue refuses targets that it has not, with a list
    if name in _WORDS:
        if value not in _WORDS[name]:
            raise Error(f"{name} must be one of {', '.join(_WORDS[name])}, not {value!r}.")
    elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Error(f"{name} must be a whole number, 1 or more, not {value!r}.")
