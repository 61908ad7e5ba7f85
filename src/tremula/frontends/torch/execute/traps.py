"""Floating-point exceptions: an infinity from finite operands, a NaN from operands without one, or a comparison with a
NaN stops the run. Every op is looked at, so this slow form is used only on request.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from tremula.errors import Error
from tremula.frontends.torch.graphs.program import RECORD

_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


class TrappingInterpreter(fx.Interpreter):
    """Runs a graph op by op and raises at the first floating-point exception."""

    def __call__(self, *args: Any) -> Any:
        return self.run(*args, enable_io_processing=False)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        before = _tensors((args, kwargs))
        had_nan = any(bool(tensor.isnan().any()) for tensor in before)
        was_finite = not had_nan and all(bool(tensor.isfinite().all()) for tensor in before)
        name = getattr(target, "_schema", None)
        word = name.name.split("::")[-1] if name is not None else str(target)
        if had_nan and word in _COMPARISONS:
            self._trap("a comparison with NaN")
        result = super().call_function(target, args, kwargs)
        for tensor in _tensors(result):
            if not had_nan and bool(tensor.isnan().any()):
                self._trap("an invalid operation (NaN)")
            if was_finite and bool(tensor.isinf().any()):
                self._trap("a division by zero or an overflow (infinity)")
        return result

    def run_node(self, n: fx.Node) -> Any:
        self._node = n
        return super().run_node(n)

    def _trap(self, what: str) -> None:
        record = self._node.meta.get(RECORD)
        line = f" at {record.source}" if record is not None and record.source is not None else ""
        raise Error(
            f"Floating-point exception: {what} in {self._node.target}{line}. Exceptions are on because of "
            "Options.Precision.enableFloatingPointExceptions(True).",
            type="poplar_application_runtime_error",
        )


def _tensors(values: Any) -> list[torch.Tensor]:
    return [
        value
        for value in pytree.tree_leaves(values)
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    ]
