"""gc-memorytest: writes patterns to as much memory as the tiles of a device have, reads them back and compares.

The memory is that of this host. One small buffer represents all tiles in turn, so the test needs little memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tremula.tools import tool
from tremula.tools.device_test import DeviceTest, Findings, source, test_parser, under_test

if TYPE_CHECKING:
    import numpy as np

NAME = "gc-memorytest"
#: words that have each bit at 0 and at 1, beside each other and not; then each word its own number
_PATTERNS = (0x0000000000000000, 0xFFFFFFFFFFFFFFFF, 0x5555555555555555, 0xAAAAAAAAAAAAAAAA)
#: tiles whose memory is there at once
_AT_ONCE = 32


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = test_parser(
        NAME, "Test as much memory as the tiles of a virtual device have: write, read, compare."
    )
    made.add_argument(
        "--tiles", type=tool.positive, metavar="N", help="test only the first N tiles of each IPU"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    return tool.run(NAME, build_parser(), _test, arguments)


def _test(given: argparse.Namespace) -> int:
    with under_test(given.device_id) as test:
        chip = test.occupancy.system.hardware.chip
        tiles = min(given.tiles or chip.tiles, chip.tiles)
        failing: dict[int, list[int]] = {}
        seconds = 0.0
        for ipu in test.device.ipus:
            failing[ipu], taken = _ipu(test, tiles, chip.tile_memory_bytes)
            seconds += taken
    moved = 2 * (len(_PATTERNS) + 1) * tiles * chip.tile_memory_bytes * len(failing)
    passed = not any(failing.values())
    cycles = 2 * (len(_PATTERNS) + 1) * chip.tile_memory_bytes / chip.data_path_bytes  # all tiles at once
    findings = Findings(
        {
            "ipu_id": given.device_id,
            "tiles": tiles,
            "bytes_per_tile": chip.tile_memory_bytes,
            "failing_tiles": {str(ipu): found for ipu, found in failing.items()},
            "result": "pass" if passed else "fail",
        },
        {"seconds": seconds, "GB/s": moved / seconds / 1e9},
        {"seconds": (cycles / chip.clock_hz, f"one data path of {chip.data_path_bytes} bytes per tile and cycle; "
                     + source(chip.name, "data_path_bytes", "chip"))},
    )  # fmt: skip
    title = f"Memory of {tiles} tiles of {chip.tile_memory_bytes:,} bytes, device {given.device_id}:"
    ipus = (
        f"  IPU {ipu}: {'failing tiles: ' + ', '.join(map(str, found)) if found else 'all tiles pass'}"
        for ipu, found in failing.items()
    )
    return findings.show(given, title, *ipus, passed=passed)


def _ipu(test: DeviceTest, tiles: int, tile_bytes: int) -> tuple[list[int], float]:
    """Test one IPU: the tiles that fail, and the seconds that it took."""
    import numpy as np

    words = tile_bytes // 8
    memory = np.empty((min(_AT_ONCE, tiles), words), dtype=np.uint64)
    numbers = np.arange(memory.size, dtype=np.uint64).reshape(memory.shape)
    failing: set[int] = set()
    seconds = 0.0
    for first in range(0, tiles, len(memory)):
        part = memory[: tiles - first]
        with test.use() as watch:
            for pattern in _PATTERNS:
                part.fill(pattern)
                failing.update(first + each for each in _wrong(part, np.uint64(pattern)))
            part[...] = numbers[: len(part)]
            failing.update(first + each for each in _wrong(part, numbers[: len(part)]))
        seconds += watch.seconds
    return sorted(failing), seconds


def _wrong(part: np.ndarray, expected: np.ndarray | np.uint64) -> list[int]:
    """Tiles whose memory is not as it was written."""
    import numpy as np

    if np.array_equal(part, np.broadcast_to(expected, part.shape)):
        return []
    bad = (part != expected).any(axis=1)
    return [int(tile) for tile in np.flatnonzero(bad)]
