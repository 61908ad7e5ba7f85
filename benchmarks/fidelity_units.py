"""Units of published figures, each with the dimension that it measures and its size in the base unit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """A unit: `size` base units of `dimension`."""

    dimension: str
    size: float = 1.0


UNITS: dict[str, Unit] = {
    "cycles": Unit("cycles"),
    "s": Unit("time"),
    "ms": Unit("time", 1e-3),
    "us": Unit("time", 1e-6),
    "min": Unit("time", 60.0),
    "FLOP/s": Unit("flops"),
    "GFLOP/s": Unit("flops", 1e9),
    "TFLOP/s": Unit("flops", 1e12),
    "B/s": Unit("bandwidth"),
    "GB/s": Unit("bandwidth", 1e9),
    "TB/s": Unit("bandwidth", 1e12),
    "B": Unit("bytes"),
    "KiB": Unit("bytes", 1024.0),
    "MiB": Unit("bytes", 1024.0**2),
    "items/s": Unit("items"),
    "samples/s": Unit("items"),
    "tokens/s": Unit("items"),
    "points/s": Unit("items"),
    "Gpoints/s": Unit("items", 1e9),
    "calls/s": Unit("rate"),
    "steps/s": Unit("rate"),
    "ratio": Unit("ratio"),
    "W": Unit("power"),
    "J": Unit("energy"),
    "Wh": Unit("energy", 3600.0),
    "samples": Unit("count"),
    "bool": Unit("truth"),
}


def in_unit(value: float, unit: str) -> float:
    """`value` of base units in `unit`."""
    return value / UNITS[unit].size
