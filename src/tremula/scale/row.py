"""The result of a study as plain values: rows of sizes, the layouts that were tried for each, and what stands beside.

Everything can be written as JSON and read back; what is read is checked field by field, as in study/finding.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tremula.distributed.host_run import HostRun
from tremula.study.finding import Figure

#: parts of a step in the order of reports; data: waiting for the host to have the next batch ready
PARTS = (
    "compute", "exchange", "sync", "inter_ipu", "collectives", "streaming", "pipeline_idle", "host", "data",
)  # fmt: skip
PART_TITLES: Mapping[str, str] = {
    "compute": "compute",
    "exchange": "exchange between tiles",
    "sync": "sync",
    "inter_ipu": "copies between IPUs",
    "collectives": "collectives between replicas",
    "streaming": "streaming memory",
    "pipeline_idle": "pipeline fill and drain",
    "host": "host",
    "data": "waiting for data",
}


@dataclass(frozen=True)
class Layout:
    """One way to lay the model over the IPUs of a size."""

    replicas: int
    #: IPUs of one replica
    stages: int
    accumulation: int = 0
    #: yes, likely, unlikely, no
    fits: str = ""
    throughput: float | None = None
    tile_share: float | None = None
    #: where stages begin, as modules
    begins: tuple[str, ...] = ()
    chosen: bool = False
    #: whether it is cut where the program cuts itself
    own: bool = False
    #: why there are no figures
    problem: str = ""


@dataclass(frozen=True)
class Row:
    """One size of one series, with the best of its layouts."""

    mode: str
    target: str
    ipus: int
    system: str = ""
    replicas: int = 0
    stages: int = 0
    micro_batch: int = 0
    accumulation: int = 0
    device_iterations: int = 0
    global_batch: int = 0
    precision: str = ""
    hosts: int = 1
    fits: str = ""
    #: step_seconds, throughput, efficiency, speedup, tile_share, ipu_bytes, energy_per_sample ...
    figures: Mapping[str, Figure] = field(default_factory=dict)
    #: seconds of a step by part; they sum to the step with waiting for data
    parts: Mapping[str, float] = field(default_factory=dict)
    layouts: tuple[Layout, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    #: digest of everything that the row follows from
    basis: str = ""

    @property
    def runs(self) -> bool:
        """Whether the best layout fits, by the middle of the band."""
        return not self.problem and self.fits in ("yes", "likely")

    def figure(self, name: str) -> Figure | None:
        """A figure, if it is known."""
        return self.figures.get(name)


@dataclass(frozen=True)
class DataRate:
    """How fast one host has batches ready."""

    samples_per_second: float
    #: measured, or given
    origin: str
    #: processes that load
    workers: int | None = None
    #: how it was measured
    how: str = ""


@dataclass(frozen=True)
class Measured:
    """What was measured beside the model."""

    runs: tuple[HostRun, ...] = ()
    #: the program as it was measured, where that differs from what is modelled
    program: str = ""
    threads: int = 0
    problems: tuple[str, ...] = ()
    #: digest of the program and of what was measured
    basis: str = ""


@dataclass(frozen=True)
class ScalingStudy:
    """A whole scaling study."""

    name: str
    training: bool
    parameters: int
    command: str
    #: when it was made, year-month-day
    date: str
    tremula: str
    model_version: str
    asked: Mapping[str, Any]
    rows: tuple[Row, ...]
    assumptions: tuple[str, ...]
    data: DataRate | None = None
    measured: Measured | None = None

    def series(self) -> list[tuple[str, str, list[Row]]]:
        """(mode, target, rows) in the order in which they were asked for."""
        found: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row.mode, row.target), []).append(row)
        return [(mode, target, rows) for (mode, target), rows in found.items()]
