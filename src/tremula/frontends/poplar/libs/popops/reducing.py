"""Reductions: what each operation does along dimensions, in the device's types.

Sums and products of halves are accumulated in single precision. A result may be scaled, and may update what the output
holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.libs.calls import computing
from tremula.frontends.poplar.program.library import Arrays, Kernel

Array = NDArray[Any]


def _accumulator(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if dtype.kind == "f" else dtype


def _log_add(x: Array, axes: tuple[int, ...]) -> Any:
    wide = np.asarray(x, dtype=_accumulator(x.dtype))
    top = np.max(wide, axis=axes, keepdims=True, initial=-np.inf)
    finite = np.where(np.isfinite(top), top, wide.dtype.type(0))
    return np.log(np.sum(np.exp(wide - finite), axis=axes)) + np.squeeze(finite, axis=axes)


def _lowest(dtype: np.dtype[Any]) -> Any:
    return dtype.type(-np.inf) if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return dtype.type(np.inf) if dtype.kind == "f" else np.iinfo(dtype).max


def reduced(operation: str, x: Array, axes: tuple[int, ...]) -> Any:
    """`x` reduced along `axes`; sums come in the accumulator's type."""
    wide = _accumulator(x.dtype)
    match operation:
        case "ADD":
            return np.add.reduce(x, axis=axes, dtype=wide)
        case "SQUARE_ADD":
            return np.add.reduce(np.square(np.asarray(x, dtype=wide)), axis=axes, dtype=wide)
        case "MUL":
            return np.multiply.reduce(x, axis=axes, dtype=wide)
        case "MAX":
            return np.fmax.reduce(x, axis=axes, initial=_lowest(x.dtype))
        case "MIN":
            return np.fmin.reduce(x, axis=axes, initial=_highest(x.dtype))
        case "LOGICAL_AND":
            return np.logical_and.reduce(x, axis=axes)
        case "LOGICAL_OR":
            return np.logical_or.reduce(x, axis=axes)
    return _log_add(x, axes)


#: how two results of an operation become one
COMBINE: dict[str, Callable[..., Any]] = {
    "ADD": np.add,
    "SQUARE_ADD": np.add,
    "MUL": np.multiply,
    "MAX": np.fmax,
    "MIN": np.fmin,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
    "LOG_ADD": np.logaddexp,
}


@computing("popops.reduce")
def reduce_kernel(attributes: Mapping[str, Any]) -> Kernel:
    """Inputs: the tensor, then the output if it is updated, then the scale if there is one."""
    operation, axes = attributes["operation"], tuple(attributes["dims"])
    update, scaled = attributes["update"], attributes["scaled"]
    combine = COMBINE[operation]

    def compute(inputs: Arrays, outputs: Arrays) -> None:
        result = reduced(operation, inputs[0], axes)
        if scaled:
            scale = np.asarray(inputs[-1]).reshape(()).astype(np.asarray(result).dtype)
            result = result + scale if operation == "LOG_ADD" else result * scale
        if update:
            result = combine(outputs[0].astype(np.asarray(result).dtype), result)
        outputs[0][...] = result

    return compute


def segments(operation: str, x: Array, first: NDArray[np.int64]) -> Any:
    """`x` reduced between neighbouring starts in `first`; no part is empty."""
    wide = _accumulator(x.dtype)
    match operation:
        case "SQUARE_ADD":
            return np.add.reduceat(np.square(np.asarray(x, dtype=wide)), first)
        case "ADD":
            return np.add.reduceat(x, first, dtype=wide)
        case "MUL":
            return np.multiply.reduceat(x, first, dtype=wide)
        case "MAX":
            return np.fmax.reduceat(x, first)
        case "MIN":
            return np.fmin.reduceat(x, first)
        case "LOGICAL_AND":
            return np.logical_and.reduceat(x, first)
        case "LOGICAL_OR":
            return np.logical_or.reduceat(x, first)
    return np.logaddexp.reduceat(np.asarray(x, dtype=wide), first)
