"""One IPU as numbers: tiles, memory, clock, arithmetic units, exchange.

The numbers come from dated TOML files in `data/chips`, one per chip, with a source beside each; `None`
stands for a number that is not published. Units are in the field names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tremula.program.dtypes import item_bytes


@dataclass(frozen=True, kw_only=True)
class Chip:
    """A chip as the planners see it. Equal chips give equal plans."""

    name: str
    title: str
    date: str  #: when the file was last checked against its sources, year-month-day
    architecture: str  #: the instruction set: ipu1, ipu2 or ipu21
    based_on: str = ""  #: the complete chip of which this one is a variation, if it is one
    tiles: int
    clock_hz: float
    worker_contexts: int

    tile_memory_bytes: int
    interleaved_memory_bytes: int  #: the part of the tile's memory in which two elements can be read at once
    memory_element_bytes: int
    data_path_bytes: int  #: bytes that one load or store instruction moves
    memcpy_bytes_per_cycle: int  #: bytes that all contexts of a tile together copy in a cycle
    instruction_bytes: int  #: bytes of one instruction

    #: accumulating units of the matrix engine, by type of data and partials; None: the type does not exist
    conv_units_half_half: int
    conv_units_half_float: int
    conv_units_float: int
    conv_units_fp8: int | None
    conv_weight_bytes_per_cycle: int  #: bytes per cycle at which the matrix engine's weights are loaded

    exchange_bytes_per_cycle: int
    #: neighbouring tiles that share a bus, and so receive the same data at twice the speed
    tiles_per_exchange_bus: int
    sync_cycles: int  #: cycles for all tiles to agree that a phase is over
    exchange_latency_cycles: (
        int  #: cycles of an exchange beside its words, on the tile for which they are most
    )
    exchange_mean_latency_cycles: int  #: the same on a mean tile
    #: instructions that a tile executes for each separate piece that it receives
    exchange_instructions_per_fragment: int

    #: power of one chip with its share of the board while it computes; None where it is not published
    busy_power_watts: float | None
    idle_power_watts: float | None

    @property
    def memory_bytes(self) -> int:
        """Memory of all tiles."""
        return self.tiles * self.tile_memory_bytes

    def vector_width(self, dtype: str) -> int:
        """Elements that one load or one vector instruction handles."""
        return max(1, self.data_path_bytes // item_bytes(dtype))

    def conv_units(self, dtype: str, partials: str) -> int:
        """Accumulating units for inputs of `dtype` and partial sums of `partials`; 0 if there are none."""
        if dtype == "fp8":
            return self.conv_units_fp8 or 0
        if dtype == "fp16":
            return self.conv_units_half_half if partials == "fp16" else self.conv_units_half_float
        return self.conv_units_float if dtype == "fp32" else 0

    def peak_flops(self, dtype: str, partials: str) -> float:
        """Floating-point operations per second of the matrix engine on all tiles."""
        units = self.conv_units(dtype, partials)
        weights, cycles = {"fp8": (32, 4), "fp16": (16, 4), "fp32": (8, 8)}[dtype]
        return 2.0 * units * weights / cycles * self.tiles * self.clock_hz

    def with_tiles(self, tiles: int) -> Chip:
        """The same chip with some of its tiles set aside."""
        return replace(self, tiles=tiles)
