"""Arrays between the instances of a run, for front ends whose tensors are not torch's.

All instances make the same calls in the same order. A sum gives the same bits on each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from tremula.distributed import collectives, consistency, launch_environment, protocol, rendezvous
from tremula.distributed.collectives import Group
from tremula.distributed.instances import sync_timeout

Array = npt.NDArray[Any]
#: what gloo adds up; other types are gathered, and each instance adds them up in the same order
_SUMMED = frozenset({"float16", "float32", "float64", "int8", "uint8", "int32", "int64"})
_HALF = "bfloat16"
_exchanged = False


def group() -> Group:
    """The group of all instances of the run; made when it is first asked for.

    Raises:
        Error: they do not come together in time.
    """
    rendezvous.write_note(protocol.NOTE_DISTRIBUTED)
    return collectives.whole(launch_environment.instance(), launch_environment.instances(), sync_timeout())


def exchanged() -> bool:
    """Whether this instance has exchanged arrays with the others."""
    return _exchanged


def note_exchange() -> None:
    """Remember that this instance exchanges arrays with the others."""
    global _exchanged
    _exchanged = True


def require_same(description: Mapping[str, Any]) -> None:
    """Compare a description (plain JSON values) with those of the other instances; Error on all if one differs."""
    consistency.require_same(group(), description)


def sums(arrays: Sequence[Array]) -> list[Array]:
    """The sum of each array over all instances; arrays of one type travel together."""
    note_exchange()
    results: list[Any] = [None] * len(arrays)
    kinds: dict[Any, list[int]] = {}
    for position, array in enumerate(arrays):
        kinds.setdefault(array.dtype, []).append(position)
    for positions in kinds.values():
        flat = _total(np.concatenate([arrays[position].reshape(-1) for position in positions]))
        start = 0
        for position in positions:
            size = arrays[position].size
            results[position] = flat[start : start + size].reshape(arrays[position].shape)
            start += size
    return results


def gathered(array: Array) -> Array:
    """The arrays of all instances, which have one shape, stacked in the order of the instances."""
    note_exchange()
    own = np.ascontiguousarray(array)
    if not own.size:
        return np.stack([own] * launch_environment.instances())
    found = group().gather(torch.from_numpy(own.reshape(-1).view(np.uint8).copy()))
    return np.stack([each.numpy().view(own.dtype).reshape(own.shape) for each in found])


def _total(flat: Array) -> Array:
    """The sum over all instances of a flat array that nobody else uses."""
    if not flat.size:
        return flat
    if flat.dtype.name in _SUMMED:
        group().sum(torch.from_numpy(flat))
        return flat
    if flat.dtype.name == _HALF:
        group().sum(torch.from_numpy(flat.view(np.int16)).view(torch.bfloat16))
        return flat
    parts = gathered(flat)
    total: Array = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
