"""A scaling study as plain values: rows of sizes, the layouts that were tried for each, and what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tremula.distributed.host_run import HostRun
from tremula.step_parts import DATA
from tremula.study.result import Result


@dataclass(frozen=True)
class Layout:
    """One way to lay the model over the IPUs of a size."""

    replicas: int
    stages: int  #: IPUs of one replica
    accumulation: int = 0
    fits: str = ""  #: yes, likely, unlikely, no
    throughput: float | None = None
    tile_share: float | None = None
    begins: tuple[str, ...] = ()  #: modules at which stages begin
    chosen: bool = False
    own: bool = False  #: whether it is cut where the program cuts itself
    problem: str = ""  #: why there are no figures


@dataclass(frozen=True)
class Row(Result):
    """One size of one series: the result of the best of its layouts, and the layouts."""

    mode: str = ""
    hosts: int = 1
    global_batch: int = 0
    layouts: tuple[Layout, ...] = ()
    #: seconds that a step waits for data; None: the rate of loading is not known
    waiting_seconds: float | None = None
    basis: str = ""  #: digest of everything that the row follows from

    @property
    def target(self) -> str:
        """The chip or system, as in the question."""
        return str(self.setting.get("target", ""))

    @property
    def system(self) -> str:
        """The system that was modelled."""
        return str(self.setting.get("system", ""))

    @property
    def replicas(self) -> int:
        """Copies of the model."""
        return int(self.setting.get("replicas", 0))

    @property
    def stages(self) -> int:
        """IPUs of one replica."""
        return int(self.setting.get("stages", 0))

    @property
    def parts(self) -> dict[str, float]:
        """Seconds of a step by part, with those of waiting for data if they are known."""
        step = self.figures["step_seconds"].value if "step_seconds" in self.figures else 0.0
        parts = {part: share * step for part, share in self.shares.items()}
        return parts if self.waiting_seconds is None else {**parts, DATA.key: self.waiting_seconds}


@dataclass(frozen=True)
class DataRate:
    """How fast one host has batches ready."""

    samples_per_second: float
    origin: str  #: measured, or given
    workers: int | None = None  #: processes that load
    how: str = ""  #: how it was measured


@dataclass(frozen=True)
class Measured:
    """What was measured beside the model."""

    runs: tuple[HostRun, ...] = ()
    program: str = ""  #: the program as it was measured, where that differs from what is modelled
    threads: int = 0
    problems: tuple[str, ...] = ()
    basis: str = ""  #: digest of the program and of what was measured


@dataclass(frozen=True)
class ScalingStudy:
    """A whole scaling study."""

    name: str
    training: bool
    parameters: int
    command: str
    date: str  #: when it was made, year-month-day
    tremula: str
    model_version: str
    question: Mapping[str, Any]
    rows: tuple[Row, ...]
    assumptions: tuple[str, ...]
    data: DataRate | None = None
    measured: Measured | None = None

    def _repr_html_(self) -> str:
        from tremula.scale.table import as_html  # the table reads rows

        return as_html(self)

    def series(self) -> list[tuple[str, str, list[Row]]]:
        """(mode, target, rows) in the order in which they were asked for."""
        found: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row.mode, row.target), []).append(row)
        return [(mode, target, rows) for (mode, target), rows in found.items()]
