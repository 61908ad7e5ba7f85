"""Convolutions that the user groups so that the device may run them as one. Each gets the group's number, its position
and its share of the settings as attributes; the numbers computed are those of single convolutions.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tremula.errors import Error
from tremula.frontends.torch.capture.context import Capture
from tremula.frontends.torch.errors import compile_error

_CONVOLUTIONS = (torch.ops.aten.convolution.default, torch.ops.aten.convolution_overrideable.default)
_numbers = itertools.count()
_open: list[MultiConvGroup] = []


def next_number() -> int:
    """A number for a group; no other group of this process has it."""
    return next(_numbers)


def nested() -> Error:
    """What to raise where a group is opened inside another."""
    return compile_error(
        "Nested poptorch.MultiConv is not supported: close one group before you open the next.",
    )


def unexpected_end() -> Error:
    """What to raise where a group ends that has no convolutions."""
    return compile_error(
        "Unexpected end_multi_conv: no convolution was called inside poptorch.MultiConv.",
    )


class MultiConvGroup(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """One group of convolutions, with `shared` settings and `per_convolution` ones (one value for all, or each)."""

    def __init__(
        self,
        capture: Capture,
        shared: Mapping[str, Any],
        per_convolution: Mapping[str, Sequence[Any] | None],
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        if _open:
            raise nested()
        self._capture = capture
        self._shared = {key: value for key, value in shared.items() if value is not None}
        self._per_convolution = {key: list(v) for key, v in per_convolution.items() if v is not None}
        self._number = next_number()
        self._count = 0

    def open(self) -> None:
        """Begin the group."""
        _open.append(self)
        self.__enter__()  # type: ignore[no-untyped-call]

    def close(self, failed: bool = False) -> None:
        """End the group and check it; `failed` says that an exception is on its way and matters more."""
        _open.remove(self)
        self.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        if failed:
            return
        if self._count == 0:
            raise unexpected_end()
        for key, values in self._per_convolution.items():
            if len(values) not in (1, self._count):
                raise compile_error(
                    f"poptorch.MultiConv: {len(values)} values of {key} for {self._count} convolutions; give "
                    "one for all or one for each.",
                )

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        scope: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if func in _CONVOLUTIONS:
            scope = self._capture.attributes(multi_conv=self._settings())
            self._count += 1
        with scope:
            return func(*args, **(kwargs or {}))

    def _settings(self) -> dict[str, Any]:
        own = {
            key: values[min(self._count, len(values) - 1)] for key, values in self._per_convolution.items()
        }
        return {"group": self._number, "index": self._count, **self._shared, **own}
