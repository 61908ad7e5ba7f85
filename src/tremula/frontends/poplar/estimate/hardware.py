"""The hardware of the chip model from the figures of a target, which programs may have changed."""

from __future__ import annotations

from dataclasses import replace

from tremula.frontends.poplar.target import TargetFacts
from tremula.hardware.chip import Chip
from tremula.placed.hardware import PlacedHardware, hardware_of


def hardware(target: TargetFacts, replicas: int = 1) -> PlacedHardware:
    """The hardware of each replica of a graph."""
    return hardware_of(
        chip(target),
        ipus=max(1, target.ipus // replicas),
        replicas=replicas,
        exchange_bytes_per_cycle=target.exchange_bytes_per_cycle,
        min_sync_cycles=target.min_ipu_sync_delay,
        relative_sync_delay=target.relative_sync_delay != "NO_DELAY",
        global_sync_cycles=target.global_sync_cycles,
        sized_code=target.compile_code,
    )


def chip(target: TargetFacts) -> Chip:
    """The chip of the hardware data, with what the target has changed."""
    plain = target.interleaved_memory_element * target.memory_element_bytes
    return replace(
        target.chip,
        tiles=target.tiles_per_ipu,
        clock_hz=target.clock_hz,
        worker_contexts=target.workers,
        tile_memory_bytes=target.bytes_per_tile,
        interleaved_memory_bytes=max(0, target.bytes_per_tile - plain),
        memory_element_bytes=target.memory_element_bytes,
        data_path_bytes=target.data_path_bytes,
        memcpy_bytes_per_cycle=target.memcpy_bytes_per_cycle,
        instruction_bytes=target.instruction_bytes,
        exchange_bytes_per_cycle=max(1, round(target.exchange_bytes_per_cycle)),
        tiles_per_exchange_bus=target.tiles_per_exchange_bus,
    )
