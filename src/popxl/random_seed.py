"""Seeds of random numbers, made on the host."""

from __future__ import annotations

import numpy as np

MAX_UINT64 = 2**64 - 1
_WORD = 2**32


def create_seeds(
    seed: int,
    offset: int = 0,
    batches_per_step: int = 1,
    gradient_accumulation_factor: int = 1,
    replicas: int = 1,
) -> np.ndarray:
    """Seed tensors for each batch, micro-batch and replica; dimensions of one element are left out."""
    shape = (batches_per_step, gradient_accumulation_factor, replicas, 2)
    count = batches_per_step * gradient_accumulation_factor * replicas
    numbers = np.random.default_rng(seed + offset).integers(
        0, MAX_UINT64, count, dtype="uint64", endpoint=True
    )
    words = np.array([uint64_to_two_uint32(int(number)) for number in numbers], dtype="uint32")
    return words.reshape(shape).squeeze()


def uint64_to_two_uint32(num: int) -> tuple[int, int]:
    """The upper and the lower half of a number of 64 bits."""
    if not 0 <= num <= MAX_UINT64:
        raise ValueError(f"{num} is not an unsigned number of 64 bits.")
    return num // _WORD, num % _WORD


def two_uint32_to_uint64(a: int, b: int) -> int:
    """The number with these halves."""
    if not (0 <= a < _WORD and 0 <= b < _WORD):
        raise ValueError(f"{a} or {b} is not an unsigned number of 32 bits.")
    return a * _WORD + b
