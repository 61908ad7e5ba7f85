"""Random numbers from seed tensors."""

from __future__ import annotations

from collections.abc import Iterable

from .. import dtypes
from ..dtypes import dtype as Dtype
from ..tensor import Tensor, constant
from ._create import create


def create_random_seed(seed: Tensor, modifier: Tensor) -> Tensor:
    """Another seed, the same for the same seed and modifier."""
    if seed.shape != (2,) or seed.dtype != dtypes.uint32:
        raise ValueError(f"A seed has the shape (2,) and the type popxl.uint32; {seed} has not.")
    return create("ModifyRandomSeed", {"seed": seed, "modifier": modifier}, "modified_seed")


def split_random_seed(seed: Tensor, n: int = 2) -> tuple[Tensor, ...]:
    """`n` seeds from one."""
    return tuple(create_random_seed(seed, constant(number, dtypes.uint32)) for number in range(n))


def random_uniform(
    seed_tensor: Tensor,
    shape: Iterable[int],
    low: float = 0.0,
    high: float = 1.0,
    dtype: Dtype = dtypes.float32,
) -> Tensor:
    """Numbers of equal chance from `low` to `high`."""
    attributes = {"shape": tuple(shape), "low": low, "high": high, "dtype": dtype.name}
    return create("RandomUniform", {"seed_tensor": seed_tensor}, "random_uniform_out", attributes)


def random_normal(
    seed_tensor: Tensor,
    shape: Iterable[int],
    mean: float = 0.0,
    std: float = 1.0,
    dtype: Dtype = dtypes.float32,
) -> Tensor:
    """Normally distributed numbers."""
    attributes = {"shape": tuple(shape), "mean": mean, "scale": std, "dtype": dtype.name}
    return create("RandomNormal", {"seed_tensor": seed_tensor}, "random_normal_out", attributes)


def dropout(t: Tensor, seed_tensor: Tensor, p: float) -> Tensor:
    """Elements are zero with probability `p`, and larger otherwise."""
    return create("Dropout", {"t": t, "seed_tensor": seed_tensor}, "dropout_out", {"ratio": p})


def shaped_dropout(t: Tensor, seed_tensor: Tensor, shape: Iterable[int], ratio: float) -> Tensor:
    """Dropout with a smaller mask that is repeated."""
    attributes = {"ratio": ratio, "shape": tuple(shape)}
    return create("ShapedDropout", {"t": t, "seed_tensor": seed_tensor}, "shapeddropout_out", attributes)
