"""The split of a data set into parts for training, validation and test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: keeps this draw apart from the orders of epochs, should their seeds be the same
_SPLIT = 1


def split(events: int, fractions: Sequence[float], seed: int = 0) -> tuple[NDArray[np.int64], ...]:
    """Share out events at random, for training, validation and test.

    Args:
        events: how many there are.
        fractions: the share of each part. If they make 1, every event is in one part.
        seed: which split; the same seed gives the same parts.

    Returns:
        The positions of each part, in ascending order. No event is in two parts.

    Raises:
        ValueError: the fractions are not possible, or a part would be empty.
    """
    total = sum(fractions)
    if not fractions or any(part <= 0 for part in fractions) or total > 1 + 1e-9:
        raise ValueError(f"Fractions {tuple(fractions)} must be greater than 0 and make 1 at most.")
    ends = np.rint(np.cumsum(fractions) * events).astype(np.int64)
    sizes = np.diff(np.r_[0, ends])
    if (sizes < 1).any():
        raise ValueError(
            f"Fractions {tuple(fractions)} of {events} events leave a part empty: {sizes.tolist()}."
        )
    order = np.random.default_rng([_SPLIT, seed]).permutation(events)
    return tuple(np.sort(part) for part in np.split(order[: ends[-1]], ends[:-1]))
