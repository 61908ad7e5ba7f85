"""The seed of the device's random numbers, as `reset_ipu_seed` sets it.

Ops that draw random numbers on the device derive their streams from `seed()`; `generation()` changes when the seed is
set again, so that streams begin anew. Replicas have streams of their own unless `identical_replicas()`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True)
class Seed:
    """A seed that was set, and whether all replicas draw the same numbers from it."""

    value: int
    identical_replicas: bool = False


_lock = threading.Lock()
_seeds: dict[int, Seed] = {}
_generation = 0


def set_seed(value: int, ordinal: int = 0, identical_replicas: bool = False) -> None:
    """Set the seed of a device."""
    global _generation
    with _lock:
        _seeds[ordinal] = Seed(value, identical_replicas)
        _generation += 1


def seed(ordinal: int = 0) -> int | None:
    """The seed of a device; None if none was set."""
    found = _seeds.get(ordinal)
    return None if found is None else found.value


def identical_replicas(ordinal: int = 0) -> bool:
    """Whether all replicas of a device draw the same numbers."""
    found = _seeds.get(ordinal)
    return found is not None and found.identical_replicas


def generation() -> int:
    """How often a seed was set: streams begin anew when it changes."""
    return _generation


def forget() -> None:
    """Unset all seeds."""
    global _generation
    with _lock:
        _seeds.clear()
        _generation += 1
