"""One exchange phase on one chip: words over the bus, control instructions, and the code for both.

All tiles run fixed programs. A word is sent once, whoever listens: any number of tiles take it, at no further cost to
the sender. A tile takes one word per cycle (two when it shares its bus with a neighbour that receives the same); while
words arrive it executes a few instructions for each separate piece (another source, another address), so the longer
of the two counts. Before the first word and after the last pass the cycles of `exchange_latency_cycles`. Numbers come
from the chip's file; their sources are osmarks/ipu-stack and PopLibs ExchangeEstimator.cpp. Gaps that remain when
tiles wait for each other's sends are in `exchange_schedule`. Sync is not included: it belongs to the superstep.
"""

from __future__ import annotations

import math

from tremula.hardware.chip import Chip

#: words that one send instruction covers (third-party notes on Mk1; taken for all chips)
WORDS_PER_SEND = 64

SOURCE = "osmarks/ipu-stack cost model; PopLibs ExchangeEstimator.cpp; the chip's file"


def exchange_cycles(bytes_per_tile: float, chip: Chip, fragments: int = 1, shared_bus: bool = False) -> float:
    """Cycles of an exchange in which the busiest tile receives `bytes_per_tile` in `fragments` pieces.

    `shared_bus`: neighbouring tiles receive the same data, and so at the speed of all their buses together.
    """
    if bytes_per_tile <= 0:
        return 0.0
    width = chip.exchange_bytes_per_cycle * (chip.tiles_per_exchange_bus if shared_bus else 1)
    payload = math.ceil(bytes_per_tile / width)
    return float(max(payload, control_cycles(chip, fragments)) + chip.exchange_latency_cycles)


def control_cycles(chip: Chip, fragments: int) -> int:
    """Cycles of the instructions that `fragments` received pieces need."""
    return chip.exchange_instructions_per_fragment * max(1, fragments)


def exchange_code_bytes(bytes_per_tile: float, chip: Chip, fragments: int = 1) -> int:
    """Code on the busiest tile: the instructions of its receives, and of as many sends as it receives."""
    if bytes_per_tile <= 0:
        return 0
    words = math.ceil(bytes_per_tile / chip.exchange_bytes_per_cycle)
    sends = max(fragments, 1, math.ceil(words / WORDS_PER_SEND))
    return chip.instruction_bytes * (sends + control_cycles(chip, fragments))
