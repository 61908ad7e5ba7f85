"""A box of IPUs as numbers: its chips, the links between them, to the host, to streaming memory and to other racks.

The links follow the ladder of PopLibs' multi-IPU model: two IPUs make a rung, rungs are stacked. Numbers come
from the dated files in `data/machines`; `None` stands for a number that is not published, or for a
part that the machine does not have (its source says which).
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.hardware.chip import Chip


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A card or an IPU-Machine. All rates are bytes per second in one direction, after protocol overhead."""

    name: str
    title: str
    date: str  #: when the file was last checked against its sources, year-month-day
    chip: Chip
    based_on: str = ""
    ipus: int

    pair_links: int  #: links between the two IPUs of a rung, for what ends there
    cross_links: int  #: of those, the links that also carry what crosses the rung on its way up or down
    rail_links: int  #: links from an IPU to the one above it, and as many to the one below
    link_bytes_per_second: float
    #: from the first word sent to its arrival on another IPU, without waiting and without the transfer itself
    link_latency_seconds: float
    sync_hop_seconds: float  #: time of one hop of the sync wires; a sync goes up and down

    gateway_links: int | None  #: Ethernet links of one machine to machines in other racks
    gateway_link_bytes_per_second: float | None

    #: what one IPU takes from, and gives to, the buffer that the host fills or empties
    tile_stream_bytes_per_second: float
    #: what the host sends to, and gets from, the buffer of one IPU
    host_to_ipu_bytes_per_second: float | None
    ipu_to_host_bytes_per_second: float | None
    host_link_bytes_per_second: float  #: the whole machine's link to its host

    streaming_memory_bytes: int | None  #: memory beside the chips that programs can put tensors into
    streaming_bytes_per_second: float | None  #: its rate, shared by the IPUs of the machine

    idle_power_watts: float | None
    busy_power_watts: float | None

    # What its sensors would show. A board carries one or two IPUs and one power sensor; figures are those that
    # gc-monitor printed on real machines, idle and under load.
    boards: int = 1
    board_idle_watts: float | None = None
    board_busy_watts: float | None = None
    #: how far a reading may lie from the modelled one, as a share of it
    board_watts_spread: float | None = None
    die_idle_celsius: float | None = None
    die_busy_celsius: float | None = None
    board_idle_celsius: float | None = None
    board_busy_celsius: float | None = None
    celsius_spread: float | None = None  #: how far a temperature may lie from the modelled one: rooms differ
