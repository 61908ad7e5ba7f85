"""How long `pva` takes to walk a profile of a large system: 64 IPUs, 100,000 ops, 500,000 execution steps.

    python -m benchmarks.pva_walk [FILE]

Run from the repository's root. Without a file, the profile of `benchmarks.made_up_profile` is written first, which is
not counted. Each row opens the report anew. Times depend on the machine; the limit, for the walk over all variables
that always live, is for two cores. Exits with 1 if it is missed.
"""

from __future__ import annotations

import argparse
import gc
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pva

LIMIT_S = 2.0


def _always_live(report: Any) -> int:
    """Name and size of every variable, one object after the other."""
    count = total = 0
    for variable in report.compilation.alwaysLiveVariables:
        count += bool(variable.name)
        total += variable.size
    return count


def _always_live_columns(report: Any) -> int:
    return len(report.compilation.alwaysLiveVariables.to_numpy("name", "size")["size"])


def _tiles(report: Any) -> int:
    return len([tile.memory.total.includingGaps for tile in report.compilation.tiles])


def _categories(report: Any) -> int:
    return sum(tile.memory.category.vertexCode.total > 0 for tile in report.compilation.tiles)


def _steps(report: Any) -> int:
    """Cycles of the first IPU in every step."""
    count = total = 0
    for step in report.execution.steps:
        count += 1
        total += step.ipus[0].cycles
    return count


def _step_columns(report: Any) -> int:
    return len(report.execution.steps.to_numpy("name", "cycles")["cycles"])


def _compute_sets(report: Any) -> int:
    return sum("/" in each.name for each in report.compilation.computeSets)


def _programs(report: Any) -> int:
    class Count(pva.ProgramVisitor):
        found = 0

        def visitOnTileExecute(self, program: Any) -> None:  # noqa: N802
            self.found += 1

    visitor = Count()
    for program in report.compilation.programs:
        program.accept(visitor)
    return visitor.found


def _liveness(report: Any) -> int:
    return len([step.notAlwaysLiveMemory.bytes for step in report.compilation.livenessProgramSteps])


#: what is walked -> how; the first one has a limit
WALKS: dict[str, Callable[[Any], int]] = {
    "always-live variables": _always_live,
    "always-live variables, columns": _always_live_columns,
    "memory of tiles": _tiles,
    "vertex code of tiles": _categories,
    "execution steps": _steps,
    "execution steps, columns": _step_columns,
    "names of compute sets": _compute_sets,
    "programs, visited": _programs,
    "steps of liveness": _liveness,
}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 if the limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", type=pathlib.Path, nargs="?", help="a profile.pop")
    options = parser.parse_args(arguments)
    if options.file:
        return walk(options.file)
    from .made_up_profile import make

    with tempfile.TemporaryDirectory() as folder:
        return walk(pathlib.Path(make(pathlib.Path(folder) / "profile.pop")))


def walk(path: pathlib.Path) -> int:
    """Walk the profile at `path`."""
    print(f"{path.stat().st_size / 1e6:.1f} MB")
    print(f"{'walk':32} {'items':>10} {'open s':>7} {'walk s':>7}")
    missed = False
    for name, walked in WALKS.items():
        gc.collect()
        began = time.perf_counter()
        with pva.openReport(path) as report:
            opened = time.perf_counter()
            items = walked(report)
            ended = time.perf_counter()
        verdict = ""
        if walked is _always_live:
            missed = ended - began > LIMIT_S
            verdict = f"  {'MISSED' if missed else 'met'}: under {LIMIT_S:g} s with opening"
        print(f"{name:32} {items:10,} {opened - began:7.2f} {ended - opened:7.2f}{verdict}", flush=True)
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
