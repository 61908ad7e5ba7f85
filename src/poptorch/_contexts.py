"""Annotations of models by context: groups of convolutions, name scopes and op attributes."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import torch

from tremula.frontends.torch.capture.context import current
from tremula.frontends.torch.ops.multiconv import MultiConvGroup

from . import enums


class MultiConv:
    """Context that groups its convolutions, so that the device may run them as one."""

    def __init__(self) -> None:
        self._available_memory_proportions: Sequence[float] | None = None
        self._partials_types: Sequence[int] | None = None
        self._plan_type: enums.MultiConvPlanType | None = None
        self._per_conv_reserved_tiles: int | None = None
        self._cycle_back_off: float | None = None
        self._enable_conv_ditherings: Sequence[bool] | None = None
        self._group: MultiConvGroup | None = None

    def availableMemoryProportions(self, value: float | Sequence[float]) -> MultiConv:
        """Set the share of the memory for temporary data: one value for all convolutions, or one value each."""
        values = value if isinstance(value, list | tuple) else (value,)
        if value is not None and (not values or not all(isinstance(item, float) for item in values)):
            raise AssertionError(
                f"Invalid available memory proportion: {value!r} is neither a float nor floats"
            )
        self._available_memory_proportions = None if value is None else values
        return self

    def partialsTypes(self, value: torch.dtype | Sequence[torch.dtype]) -> MultiConv:
        """Set the type of partial sums (float32 or float16): one value for all convolutions, or one value each."""
        codes = {torch.float32: 0, torch.float16: 1}
        values = value if isinstance(value, list | tuple) else (value,)
        if any(item not in codes for item in values):
            raise ValueError(f"Invalid partials types {value!r}: they must be torch.float or torch.half")
        self._partials_types = [codes[item] for item in values]
        return self

    def enableConvDithering(self, value: bool | Sequence[bool]) -> MultiConv:
        """Map convolutions to different tiles: one value for all, or one value each."""
        values = value if isinstance(value, list | tuple) else (value,)
        if value is not None and not all(isinstance(item, bool) for item in values):
            raise ValueError(f"value must be a bool or a list of bools, not {value!r}")
        self._enable_conv_ditherings = None if value is None else values
        return self

    def planType(self, value: enums.MultiConvPlanType) -> MultiConv:
        """Run the convolutions in parallel or one after the other."""
        if value is not None and not isinstance(value, enums.MultiConvPlanType):
            raise AssertionError(f"Invalid plan type {value!r}: it must be a poptorch.MultiConvPlanType")
        self._plan_type = value
        return self

    def perConvReservedTiles(self, value: int) -> MultiConv:
        """Set the number of tiles that are reserved for each convolution."""
        if not isinstance(value, int):
            raise AssertionError("the number of tiles must be an integer")
        self._per_conv_reserved_tiles = value
        return self

    def cycleBackOff(self, value: float) -> MultiConv:
        """Set the share of additional cycles, between 0 and 1, that a smaller plan may take."""
        if not isinstance(value, float):
            raise AssertionError("the cycle back-off must be a float")
        self._cycle_back_off = value
        return self

    def __enter__(self) -> None:
        capture = current()
        if capture is None:
            return
        plan = self._plan_type
        group = MultiConvGroup(
            capture,
            {
                "plan_type": None if plan is None else plan.value,
                "per_conv_reserved_tiles": self._per_conv_reserved_tiles,
                "cycle_back_off": self._cycle_back_off,
            },
            {
                "available_memory_proportion": self._available_memory_proportions,
                "partials_type": self._partials_types,
                "dithering": self._enable_conv_ditherings,
            },
        )
        group.open()
        self._group = group

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        group, self._group = self._group, None
        if group is not None:
            group.close(failed=type is not None)


class NameScope:
    """Context that prefixes the names of ops with `name`.

    Args:
        name: added to the scopes already open.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise AssertionError(f"the name of a NameScope must be a string, not {type(name).__name__}")
        self.name = name

    def __enter__(self) -> None:
        capture = current()
        if capture is not None:
            capture.push_scope(self.name)

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        capture = current()
        if capture is not None:
            capture.pop_scope()


class Attribute:
    """Context in which ops carry extra attributes.

    Args:
        kwargs: attributes by name, each a dictionary of keys and values; nested contexts add to it.
    """

    _current_attrs: dict[str, dict[str, Any]] = {}

    def __init__(self, **kwargs: Mapping[str, Any]) -> None:
        self._kwargs = kwargs
        self._saved: dict[str, dict[str, Any]] = {}
        self._scope = contextlib.ExitStack()

    def __enter__(self) -> None:
        capture = current()
        if capture is None:
            return
        self._saved = Attribute._current_attrs
        merged = copy.deepcopy(self._saved)
        for name, values in self._kwargs.items():
            merged.setdefault(name, {}).update(values)
        Attribute._current_attrs = merged
        # Names may clash with none of the engine's own: they are kept under one key.
        self._scope.enter_context(capture.attributes(user_attributes=merged))

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._scope.close()
        Attribute._current_attrs = self._saved
