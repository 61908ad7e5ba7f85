"""How far off the modelled figures of placed programs may be.

The times rest on the total cycles in the profiles that Poplar's IPU model printed for six programs: five halo exchanges
of thorbenlouw/lbm-graphcore (published over modelled 0.98, 0.98, 1.03, 1.07 and 1.50; docs/poplar-estimates.md) and
tutorial 6 without its transfers with the host (0.92). No constant was fitted to them as a whole; cycles of copies and
which copies run together were read off the same profiles. Nobody has published the memory of such programs tile by
tile.
"""

from __future__ import annotations

from collections.abc import Mapping

from tremula.estimate.bands import Band

_TIMES = Band(low=0.9, high=1.5, rows=6, families=2)

PLACED_BANDS: Mapping[str, Band] = {
    **dict.fromkeys(
        (
            "cycles_per_step", "device_cycles_per_step", "cycles_per_call", "seconds_per_step", "seconds_per_call",
            "latency_seconds",
        ),
        _TIMES,
    ),
    "throughput": _TIMES.inverse,
}  # fmt: skip
