"""Arithmetic that all vertex formulas share. Numbers are float64 so that whole search grids pass through."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
#: one yes or no for each candidate
Flags: TypeAlias = NDArray[np.bool_]
#: what the formulas take: one number, or one for each candidate of a search
Numbers: TypeAlias = float | Array


def array(values: Numbers) -> Array:
    """As an array of floats, with at least one dimension."""
    return np.atleast_1d(np.asarray(values, dtype=np.float64))


def ceil_div(a: Numbers, b: Numbers) -> Array:
    """a / b, rounded up."""
    return np.ceil(np.divide(a, b))


def floor_div(a: Numbers, b: Numbers) -> Array:
    """a / b, rounded down."""
    return np.floor(np.divide(a, b))


def scalar_or_array(result: Array, *arguments: Numbers) -> Numbers:
    """A plain number if all arguments were plain numbers."""
    if all(np.ndim(argument) == 0 for argument in arguments):
        return float(np.ravel(result)[0])
    return result


def slowest_worker(
    rows: Numbers, width: Numbers, workers: int, piece: Callable[[Array], Array], start: float
) -> tuple[Array, Array]:
    """Cycles of the slowest and of the fastest worker when rows of points are cut evenly among workers.

    All points of all rows stand in one line, which is cut at floor(i * points / workers); a worker walks the
    pieces of rows in its part and pays `piece(length)` for each and `start` once. Workers without points are
    never started. Source: PopLibs ConvUtilInternal.cpp (partition by worker).
    """
    rows, width = array(rows), array(width)
    points = rows * width
    cut = np.arange(workers + 1, dtype=np.float64)[:, None]
    bounds = np.floor(cut * points / workers)
    begin, end = bounds[:-1], bounds[1:]
    first_row, last_row = np.floor(begin / width), np.floor((end - 1) / width)
    single = first_row >= last_row
    first = np.where(single, end - begin, (first_row + 1) * width - begin)
    last = np.where(single, 0.0, end - last_row * width)
    whole = np.maximum(last_row - first_row - 1, 0.0)
    cycles = start + piece(first) + np.where(last > 0, piece(last), 0.0)
    cycles += np.where(whole > 0, whole * piece(width), 0.0)
    cycles = np.where(end > begin, cycles, 0.0)
    return cycles.max(axis=0), cycles.min(axis=0)
