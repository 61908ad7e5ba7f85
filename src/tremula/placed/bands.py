"""How far off the modelled figures of placed programs may be.

The times rest on the total cycles in the profiles that Poplar's IPU model printed for six programs: five halo exchanges
of thorbenlouw/lbm-graphcore (published over modelled 0.94, 1.00, 1.02, 1.02 and 1.03; docs/poplar-estimates.md) and
tutorial 6 without its transfers with the host (0.92). No constant was fitted to them as a whole; cycles of copies,
which copies run together and how workers share them were read off the same profiles. So the upper end is 1.5, what one
of them had before the last of these rules was found: other programs may need rules that are not known yet. Nobody has
published the memory of such programs tile by tile.
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
