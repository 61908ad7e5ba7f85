"""How large profile files are and how long they take: written, read, shown as a page and as a trace.

    python -m benchmarks.profile_file [--json OUT] [--rows bert,resnet]

Run from the repository's root. Each row is a model of `benchmarks.modelling`; estimating it is not counted. Sizes do
not depend on the machine, times do; the limits are for two cores. Exits with 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import tempfile
import time
from dataclasses import dataclass
from typing import Any

from .fidelity_cases import Case
from .fidelity_evaluate import Evaluator
from .fidelity_models import model_estimate
from .modelling import ROWS, Row

SIZE_LIMIT_MB = 50.0
WRITE_LIMIT_S = 10.0
PAGE_LIMIT_MB = 2.0


@dataclass(frozen=True)
class Measured:
    """The figures of one row."""

    name: str
    ops: int
    plans: int
    file_mb: float
    write_s: float
    read_s: float
    page_mb: float
    page_s: float
    trace_mb: float
    trace_s: float

    @property
    def met(self) -> bool:
        """Whether all limits are kept."""
        return self.file_mb < SIZE_LIMIT_MB and self.write_s < WRITE_LIMIT_S and self.page_mb < PAGE_LIMIT_MB


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 on a miss."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to a file as well")
    parser.add_argument("--rows", default="bert,resnet", help="rows to measure (default: bert,resnet)")
    options = parser.parse_args(arguments)
    print(
        f"{'program':46} {'ops':>6} {'plans':>6} {'file MB':>8} {'write s':>8} {'read s':>7} {'page MB':>8} "
        f"{'page s':>7} {'trace MB':>9} {'trace s':>8}"
    )
    found = []
    for row in ROWS:
        if row.key in options.rows.split(","):
            figures = measured(row)
            found.append(figures)
            print(
                f"{row.name:46} {figures.ops:6} {figures.plans:6} {figures.file_mb:8.2f} {figures.write_s:8.2f} "
                f"{figures.read_s:7.2f} {figures.page_mb:8.2f} {figures.page_s:7.2f} {figures.trace_mb:9.2f} "
                f"{figures.trace_s:8.2f}  {'met' if figures.met else 'MISSED'}",
                flush=True,
            )
    print(
        f"limits: file under {SIZE_LIMIT_MB:.0f} MB, written in under {WRITE_LIMIT_S:.0f} s, page under "
        f"{PAGE_LIMIT_MB:.0f} MB"
    )
    if options.json:
        listed: list[dict[str, Any]] = [dict(vars(figures)) for figures in found]
        options.json.write_text(json.dumps(listed, indent=1) + "\n")
    return int(not all(figures.met for figures in found))


def measured(row: Row) -> Measured:
    """Write, read and show the profile of one row."""
    from tremula.profile import Profile
    from tremula.recording import write_profile
    from tremula.view.page import write_page
    from tremula.view.perfetto import write_trace

    case = Case(
        row.key, "model", row.chip, "throughput", 1.0, "items/s", "", "training",
        precision=row.precision, parameters=row.parameters,
    )  # fmt: skip
    estimate = model_estimate(case, Evaluator())
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "profile.pop"
        times = [time.perf_counter()]
        write_profile(estimate, path, run={"model": row.name})
        times.append(time.perf_counter())
        with Profile(path) as profile:
            _read_all(profile)
            times.append(time.perf_counter())
        with Profile(path) as profile:  # from a fresh start, as the commands do
            page = write_page(profile, path.with_name("page.html"))
            times.append(time.perf_counter())
        trace = path.with_name("trace.json")
        with Profile(path) as profile, open(trace, "w", encoding="utf-8") as file:
            write_trace(profile, file)
        times.append(time.perf_counter())
        write, read, shown, traced = (after - before for before, after in itertools.pairwise(times))
        return Measured(
            name=row.name,
            ops=len(profile.ops),
            plans=len(profile.plans),
            file_mb=path.stat().st_size / 1e6,
            write_s=write,
            read_s=read,
            page_mb=page / 1e6,
            page_s=shown,
            trace_mb=trace.stat().st_size / 1e6,
            trace_s=traced,
        )


def _read_all(profile: Any) -> None:
    """Every table and every array."""
    from tremula.profile.frames import FRAMES
    from tremula.profile.schema import META, TABLES

    for table in TABLES.values():
        if table is not META:
            profile.rows(table.row)
    for name in FRAMES:
        frame = profile.frame(name)
        for column in frame.columns:
            frame.column(column)
    for row in profile.ipus:
        profile.tile_bytes(row.ipu)
        profile.live_bytes(row.ipu)


if __name__ == "__main__":
    raise SystemExit(main())
