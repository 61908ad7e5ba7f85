"""gc-exchangetest and gc-exchangewritetest: move data between tiles and check it.

Each tile has a block of this host's memory. In the first test every tile receives from one other tile, in patterns
that cover all distances. In the second test each tile in turn writes to all tiles.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tremula.tools import tool
from tremula.tools.device_test import DeviceTest, Findings, source, test_parser, under_test

if TYPE_CHECKING:
    import numpy as np

_WORDS = 256  # 4-byte words of one block

#: what a test does to one IPU, in so many rounds: the tiles that fail, seconds, bytes moved
_Rounds = Callable[[DeviceTest, int, int], tuple[list[int], float, int]]


def build_parser() -> argparse.ArgumentParser:
    """The command line of gc-exchangetest."""
    return _parser("gc-exchangetest", "Every tile receives a block from another.")


def build_parser_write() -> argparse.ArgumentParser:
    """The command line of gc-exchangewritetest."""
    return _parser("gc-exchangewritetest", "Tiles write a block to all tiles, in turn.")


def main(arguments: Sequence[str] | None = None) -> int:
    """gc-exchangetest."""
    return _main(build_parser(), _permutations, arguments)


def main_write(arguments: Sequence[str] | None = None) -> int:
    """gc-exchangewritetest."""
    return _main(build_parser_write(), _broadcasts, arguments)


def _parser(name: str, what: str) -> argparse.ArgumentParser:
    made = test_parser(
        name, f"Test the exchange of a virtual device: {what} Blocks lie in this host's memory."
    )
    tool.add_count(made, "--iterations", 8, "rounds on each IPU")
    return made


def _main(made: argparse.ArgumentParser, rounds: _Rounds, arguments: Sequence[str] | None) -> int:
    name = made.prog
    return tool.run(name, made, lambda given: _test(name, given, rounds), arguments)


def _test(name: str, given: argparse.Namespace, rounds: _Rounds) -> int:
    failing: dict[str, list[int]] = {}
    seconds, moved = 0.0, 0
    with under_test(given.device_id) as test:
        chip = test.occupancy.system.hardware.chip
        for ipu in test.device.ipus:
            failing[str(ipu)], taken, size = rounds(test, chip.tiles, given.iterations)
            seconds += taken
            moved += size
    passed = not any(failing.values())
    everywhere = chip.tiles * chip.exchange_bytes_per_cycle * chip.clock_hz  # all tiles receive at once
    findings = Findings(
        {
            "ipu_id": given.device_id,
            "tiles": chip.tiles,
            "iterations": given.iterations,
            "failing_tiles": failing,
            "result": "pass" if passed else "fail",
        },
        {"GB/s": moved / seconds / 1e9, "seconds": seconds},
        {"GB/s": (everywhere / 1e9, source(chip.name, "exchange_bytes_per_cycle", "chip"))},
    )
    title = f"{name}: {chip.tiles} tiles of device {given.device_id}, {given.iterations} rounds:"
    ipus = (
        f"  IPU {ipu}: {f'failing tiles: {found}' if found else 'all tiles pass'}"
        for ipu, found in failing.items()
    )
    return findings.show(given, title, *ipus, passed=passed)


def _permutations(test: DeviceTest, tiles: int, rounds: int) -> tuple[list[int], float, int]:
    import numpy as np

    memory = _blocks(tiles, 1)
    received = np.empty_like(memory)
    own = np.arange(tiles)
    failing: set[int] = set()
    seconds = 0.0
    for turn in range(rounds):
        distance = 1 + turn * tiles // max(1, rounds)
        sender = (own + distance) % tiles if turn % 2 == 0 else (distance - own) % tiles
        with test.use() as watch:
            np.take(memory, sender, axis=0, out=received)
        seconds += watch.seconds
        failing.update(_wrong(received, _first_words(sender, 1)))
    return sorted(failing), seconds, rounds * memory.nbytes


def _broadcasts(test: DeviceTest, tiles: int, rounds: int) -> tuple[list[int], float, int]:
    import numpy as np

    memory = _blocks(tiles, 2)
    received = np.empty_like(memory)
    failing: set[int] = set()
    seconds = 0.0
    for turn in range(rounds):
        writer = turn * tiles // rounds
        received.fill(0)
        with test.use() as watch:
            received[...] = memory[writer]
        seconds += watch.seconds
        failing.update(_wrong(received, _first_words(np.full(tiles, writer), 2)))
    return sorted(failing), seconds, rounds * memory.nbytes


def _first_words(tiles: np.ndarray, salt: int) -> np.ndarray:
    """A word that is a tile's own."""
    import numpy as np

    return tiles.astype(np.uint32) * np.uint32(2_654_435_761) + np.uint32(salt)


def _blocks(tiles: int, salt: int) -> np.ndarray:
    """A block for each tile that no other tile has."""
    import numpy as np

    return _first_words(np.arange(tiles), salt)[:, None] + np.arange(_WORDS, dtype=np.uint32)


def _wrong(received: np.ndarray, first: np.ndarray) -> list[int]:
    import numpy as np

    good = (received == first[:, None] + np.arange(_WORDS, dtype=np.uint32)).all(axis=1)
    return [int(tile) for tile in np.flatnonzero(~good)]
