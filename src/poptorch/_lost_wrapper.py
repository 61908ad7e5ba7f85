"""Detects an executor that is garbage-collected while its module is still in use. The device's weights are lost, and
calls of the module run on the host. A warning appears when such weights are read, or when the module replaced the
executor.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tremula import log
from tremula.distributed import independent_models
from tremula.program.op import SourceLine
from tremula.program.source import user_line

if TYPE_CHECKING:
    from ._poplar_executor import PoplarExecutor

#: methods that a module returns itself from and that programs call on an executor: `model = model.eval()` loses it
RETURN_THE_MODULE = frozenset({"eval", "train", "requires_grad_", "apply", "share_memory"})


class TrainingLost:
    """Whether the weights that a module's last training calls made are gone. Outlives the executor."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._lost = False
        self._line: SourceLine | None = None

    def happened(self, line: SourceLine | None) -> None:
        """The executor was collected, at `line`, before the weights were copied."""
        self._lost, self._line = True, line

    def warn(self) -> None:
        """The module's weights are read, and its executor is gone."""
        if not self._lost or sys.is_finalizing():
            return
        self._lost = False
        where = f" at {self._line}" if self._line else ""
        log.layer("tremula").warning(
            "The trained weights of %s are lost: the object that trainingModel returned went out of scope%s before the "
            "weights were copied from the device. Keep that object, or call copyWeightsToHost() or detachFromDevice() "
            "on it before it goes out of scope.",
            self._model,
            where,
        )


def returns_module(executor: PoplarExecutor, method: Callable[..., Any]) -> Callable[..., Any]:
    """A `method` of the module that returns it; remembers where it was called on the executor."""

    # it holds the executor, so that in `model = inferenceModel(model).eval()` that one is collected after the call
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        line = user_line()
        executor._module_returned = method.__name__, line
        executor._ledger.module_returned(method.__name__, str(line or ""))
        return method(*args, **kwargs)

    return call


def collected(executor: PoplarExecutor) -> None:
    """The last reference to `executor` is gone."""
    if sys.is_finalizing():
        return
    line = user_line()
    method, called_at = executor._module_returned
    if line is not None and line == called_at:
        kind = executor._device.settings.kind
        log.warn_once(
            f"wrapper lost {line}",
            f"{method}() of a wrapped model, at {line}, returned the plain module, which replaced the wrapped one. "
            f"Calls of it run plain PyTorch on the host. Write model.{method}() without an assignment, and keep the "
            f"object that {kind} returned.",
        )
        independent_models.add_conversion()
    if executor._training and executor._weights.outdated:
        executor._wrapping.lost.happened(line)
