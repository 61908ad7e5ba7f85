"""Accumulators."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor
from .._create import create

Factor = float | Tensor | None


def _accumulate(kind: str, name: str, t: Tensor, x: Tensor, f: Any) -> Tensor:
    tensors: dict[str, Tensor] = {"t": t, "X": x}
    attributes: dict[str, Any] = {"type": kind}
    if isinstance(f, Tensor):
        tensors["f"] = f
    else:
        attributes["factor"] = f
    return create("Accumulate", tensors, f"{name}__{t.name}", attributes)


def accumulate_(t: Tensor, X: Tensor, f: Factor = None) -> Tensor:
    """`t += X`, or `t += f * X`."""
    return _accumulate("Add" if f is None else "DampenedAdd", "accumulate", t, X, f)


def accumulate_square_(t: Tensor, X: Tensor, f: float | Tensor = 1.0) -> Tensor:
    """`t += f * X * X`."""
    return _accumulate("DampenedAddSquare", "accumulate_square", t, X, f)


def accumulate_mean_(t: Tensor, X: Tensor, step: float | Tensor) -> Tensor:
    """The mean of `step` values in `t`, and `X`."""
    counter = t._ensure_tensor(step, dtype=dtypes.float32)
    return _accumulate("Mean", "accumulate_mean", t, X, counter)


def accumulate_moving_average_(t: Tensor, X: Tensor, f: float | Tensor) -> Tensor:
    """`t = f * t + (1 - f) * X`."""
    return _accumulate("MovingAverage", "accumulate_moving_avg", t, X, f)


def accumulate_moving_average_square_(t: Tensor, X: Tensor, f: float | Tensor) -> Tensor:
    """`t = f * t + (1 - f) * X * X`."""
    return _accumulate("MovingAverageSquare", "accumulate_moving_avg_square", t, X, f)


def accumulator_scale_(t: Tensor, f: float | Tensor) -> Tensor:
    """`t *= f`."""
    name = f"accumulator_scale__{t.name}"
    if isinstance(f, Tensor):
        return create("AccumulatorScale", {"t": t, "f": f}, name, places=[0, 2])
    return create("AccumulatorScale", {"t": t}, name, {"factor": f})


def accumulator_zero_(t: Tensor) -> Tensor:
    """`t = 0`."""
    return accumulator_scale_(t, 0.0)


def sparse_accumulate_(
    t: Tensor, X: Tensor, indices: Tensor, axis: int = 0, f: Factor = None, W: Tensor | None = None
) -> Tensor:
    """Add the rows of `X`, times `f`, to the rows of `t` that `indices` names."""
    tensors: dict[str, Tensor] = {"t": t, "X": X}
    places = [0, 1]
    attributes: dict[str, Any] = {"axis": axis}
    if isinstance(f, Tensor):
        tensors["f"] = f
        places.append(2)
    else:
        attributes["factor"] = f
    tensors["indices"] = indices
    places.append(3)
    if W is not None:
        tensors["W"] = W
        places.append(4)
    return create("SparseAccumulate", tensors, f"sparse_accumulate__{t.name}", attributes, places=places)


def copy_var_update_(t: Tensor, X: Tensor) -> Tensor:
    """`t = X`."""
    return create("CopyVarUpdate", {"t": t, "X": X}, f"copy_var_update__{t.name}")
