"""Whole numbers divided up so that the parts sum to the whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def divided(total: int, weights: Sequence[float] | NDArray[np.float64]) -> NDArray[np.int64]:
    """`total` in whole parts in proportion to `weights`; all of it in the first part if they are all zero."""
    array = np.asarray(weights, dtype=np.float64)
    if not len(array):
        return np.zeros(0, dtype=np.int64)
    whole = float(array.sum())
    if whole <= 0.0:
        parts = np.zeros(len(array), dtype=np.int64)
        parts[0] = total
        return parts
    ends = np.rint(np.cumsum(array) * (total / whole)).astype(np.int64)
    ends[-1] = total
    return np.diff(np.minimum(ends, total), prepend=0)
