"""gc-hosttraffictest: measures copies between host memory, a buffer and memory that represents tiles.

All memory is that of this host, so the rates are those of copies on this host. The rates of the modelled machine are
listed separately.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tremula.errors import Error
from tremula.hardware.machine import Machine
from tremula.tools import tool
from tremula.tools.device_test import DeviceTest, source, test_parser, under_test

if TYPE_CHECKING:
    import numpy as np

NAME = "gc-hosttraffictest"
_BLOCK = 64
#: where the host and the tiles move data, seen from the buffer between them
_WAYS = (
    "host_from_buffer_from_tile",
    "host_to_buffer_to_tile",
    "host_to_buffer_from_tile",
    "host_from_buffer_to_tile",
)


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = test_parser(
        NAME, "Measure copies between host memory and memory that stands for the tiles of a device."
    )
    tool.add_count(made, "--iterations", 100_000, "transfers")
    tool.add_count(made, "--tiles-per-ipu", 32, "number of tiles that take part")
    tool.add_count(made, "--transfer-size", 4, "64-byte blocks per transfer and tile")
    tool.add_count(made, "--repeats", 1, "repetitions of the whole test")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    return tool.run(NAME, build_parser(), _test, arguments)


def _test(given: argparse.Namespace) -> int:
    result: dict[str, Any] = {}
    with under_test(given.device_id) as test:
        system = test.occupancy.system.hardware
        tiles = min(given.tiles_per_ipu, system.chip.tiles)
        result["configuration"] = {
            "number_of_ipus": len(test.device.ipus),
            "tile_transfers_enabled": True,
            "host_transfers_enabled": True,
            "tiles_per_ipu": tiles,
            "transfer_size_64byte_blocks": given.transfer_size,
            "iterations": given.iterations,
        }
        size = len(test.device.ipus) * tiles * given.transfer_size * _BLOCK
        if size > 1 << 30:
            raise Error("one transfer of all tiles would be more than 1 GB; use fewer tiles or blocks.")
        for repeat in range(given.repeats):
            found = {way: _way(test, way, size, given.iterations) for way in _WAYS}
            result[f"repeat_{repeat}"] = found
            if not given.json_output:
                _print_findings(repeat, found)
        modelled = _modelled(system.machine)
    if given.json_output:
        measured = {way: values["host_transfer_speed_gbps"] for way, values in found.items()}
        tool.write_json({**result, "virtual": True, "measured": measured, "modelled": modelled})
    else:
        print(f"modelled, {system.machine.title}:")
        for name, figure in modelled.items():
            print(f"  {name:28} {figure['value']:6.1f} Gbit/s\n    from: {figure['source']}")
    return 0


def _print_findings(repeat: int, found: dict[str, dict[str, Any]]) -> None:
    print(f"repeat {repeat}, measured on this host:")
    for way, values in found.items():
        print(
            f"  {way:28} host {values['host_transfer_speed_gbps']:6.1f} Gbit/s   "
            f"tiles {values['tile_transfer_speed_gbps']:6.1f} Gbit/s   {values['duration_seconds']:.3f} s"
        )
    sys.stdout.flush()


def _way(test: DeviceTest, way: str, size: int, count: int) -> dict[str, Any]:
    """One combination: first the host's part, then the tiles'."""
    import numpy as np

    host, buffer, tiles = (np.full(size, fill, dtype=np.uint8) for fill in (1, 2, 3))
    host_reads, tile_writes = way.startswith("host_from"), way.endswith("from_tile")
    moved = size * count
    with test.use(sent=0 if host_reads else moved, fetched=moved if host_reads else 0) as watch:
        tile_seconds = _copies(*((tiles, buffer) if tile_writes else (buffer, tiles)), count)
        host_seconds = _copies(*((buffer, host) if host_reads else (host, buffer)), count)
    if not np.array_equal(*((host, buffer) if host_reads else (buffer, host))):
        raise Error(f"{way}: the received data differs from the data that was sent.")
    host_part = "host from buffer" if host_reads else "host to buffer"
    tile_part = "tile to buffer" if tile_writes else "buffer to tile"
    return {
        "description": f"{host_part}, {tile_part}",
        "duration_seconds": watch.seconds,
        "host_data_transferred_bytes": moved,
        "host_transfer_speed_gbps": 8 * moved / host_seconds / 1e9,
        "tile_data_transferred_bytes": moved,
        "tile_transfer_speed_gbps": 8 * moved / tile_seconds / 1e9,
    }


def _copies(source_of: np.ndarray, target: np.ndarray, count: int) -> float:
    """Seconds of `count` copies."""
    import numpy as np

    copy = np.copyto
    begin = time.perf_counter()
    for _ in range(count):
        copy(target, source_of)
    return max(time.perf_counter() - begin, 1e-9)


def _modelled(machine: Machine) -> dict[str, dict[str, Any]]:
    found = {}
    for name, field in (
        ("host to IPU", "host_to_ipu_bytes_per_second"),
        ("IPU to host", "ipu_to_host_bytes_per_second"),
        ("tile stream", "tile_stream_bytes_per_second"),
    ):
        value = getattr(machine, field)
        if value is not None:
            found[name] = {"value": 8 * value / 1e9, "source": source(machine.name, field)}
    return found
