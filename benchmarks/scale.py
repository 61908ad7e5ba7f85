"""How long a scaling study takes, and what its time grows with.

    python -m benchmarks.scale [--quick] [--json OUT]

Run from the repository's root, on a machine that is otherwise idle: processor time too grows where programs share a
core or its caches. First the whole command, `cosmictagger scale` for the configuration of the published
runs from 1 to 64 IPUs, in a fresh process from its start to its end. Then, in this process, with the program captured
and its cuts known: what one row (a size of a series, with all layouts that are tried for it) takes from 1 to 256 IPUs,
and what 4 to 32 rows (sizes x weak and strong x chips) take together, in seconds of the processor. A row must not take
longer with more IPUs, and rows must lie on a straight line. Times depend on the machine; the targets are for two
cores. `--quick` does the same with a small network, to see that it works. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from tremula.frontends.torch.subject import TorchSubject
from tremula.scale.batches import Batches
from tremula.scale.layouts import Layouts
from tremula.scale.question import MODES, WEAK, ScaleQuestion
from tremula.scale.sizes import sizes
from tremula.study.programs import subjects_of_program

#: seconds of the whole command
SECONDS_TARGET = 60.0
#: time of a row at the largest size / at the size that it is compared with
GROWTH_TARGET = 1.25
#: how far a number of rows may be from the line, of its own time
LINE_TARGET = 0.15
TIMEOUT_S = 600
#: micro-batches of an IPU, enough for eight stages; each timing has other ones, so that none is known already
_PER_IPU = 4
#: strong scaling has far more of them, for the same reason
_MORE = 100


@dataclass(frozen=True)
class Plan:
    """What is timed."""

    #: the configuration
    words: tuple[str, ...]
    #: of the whole command
    ipus: tuple[int, ...]
    stages: tuple[int, ...]
    #: sizes of single rows
    row_ipus: tuple[int, ...]
    #: the row that the largest is compared with: as many layouts are tried for it
    small: int
    #: (sizes, modes, chips) of rows that are timed together
    together: tuple[tuple[tuple[int, ...], tuple[str, ...], tuple[str, ...]], ...]
    #: times that everything is timed, by turns; the shortest counts: a busy machine only adds to it
    rounds: int


_SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
FULL = Plan(
    words=("--config-name=a21_ipu",),
    ipus=(1, 2, 4, 8, 16, 32, 64),
    stages=(1, 2, 4, 8),
    row_ipus=(1, 2, 4, 8, 16, 32, 64, 128, 256),
    small=8,
    together=(
        (_SIZES[:4], (WEAK,), ("bow",)),
        (_SIZES[:4], MODES, ("bow",)),
        (_SIZES[:4], MODES, ("bow", "mk2")),
    ),
    rounds=5,
)
QUICK = Plan(
    words=(
        "--config-name=demo", "data.wires=64", "data.ticks=32", "data.downsample=1", "network.depth=1",
        "network.n_initial_filters=2", "network.bottleneck_deepest=2",
    ),
    ipus=(1, 2),
    stages=(1,),
    row_ipus=(1, 8, 256),
    small=8,
    together=(((8, 16), (WEAK,), ("bow",)), ((8, 16), MODES, ("bow",)), (_SIZES, (WEAK,), ("bow",))),
    rounds=1,
)  # fmt: skip


@dataclass
class Figures:
    """What was measured."""

    #: of the whole command; None: it failed
    command_seconds: float | None = None
    #: by number of IPUs
    row_seconds: dict[int, float] = field(default_factory=dict)
    row_layouts: dict[int, int] = field(default_factory=dict)
    growth: float = 0.0
    #: by number of rows
    together_seconds: dict[int, float] = field(default_factory=dict)
    seconds_per_row: float = 0.0
    off_the_line: float = 0.0

    @property
    def misses(self) -> list[str]:
        """Targets that were missed."""
        missed = []
        if self.command_seconds is None or self.command_seconds > SECONDS_TARGET:
            missed.append("the whole command")
        if self.growth > GROWTH_TARGET:
            missed.append("a row at the largest size")
        if self.off_the_line > LINE_TARGET:
            missed.append("a straight line")
        return missed


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 if a target is missed or something could not be measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="a small network and few rows")
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file as well")
    options = parser.parse_args(arguments)
    plan = QUICK if options.quick else FULL
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        figures.command_seconds = _command(plan, pathlib.Path(folder))
        program = ["-m", "cosmictagger", *plan.words, f"output_dir={folder}/here"]
        with open(pathlib.Path(folder) / "program.log", "w", encoding="utf-8") as log:
            subjects_of_program(program, lambda subject: _rows(subject, plan, figures), prints=log)
    print(f"missed: {', '.join(figures.misses)}" if figures.misses else "all targets met")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(asdict(figures), indent=1) + "\n")
    return int(bool(figures.misses))


def _command(plan: Plan, folder: pathlib.Path) -> float | None:
    """Seconds of a whole study in a fresh process."""
    words = ["scale", *plan.words, "--ipus", _listed(plan.ipus), "--stages", _listed(plan.stages)]
    words += ["--no-measure", "--no-plots", "--out", str(folder / "study")]
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "cosmictagger", *words],
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    told = f"cosmictagger scale {plan.words[0]} --ipus {_listed(plan.ipus)}"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
        print(f"{told}: not measured: {last}", flush=True)
        return None
    print(
        f"{told}: {seconds:.1f} s ({SECONDS_TARGET:.0f}), ratio {seconds / SECONDS_TARGET:.2f} "
        f"{_verdict(seconds <= SECONDS_TARGET)}",
        flush=True,
    )
    return seconds


def _rows(subject: TorchSubject, plan: Plan, figures: Figures) -> None:
    """Time rows of a program that is captured."""
    # the program waits meanwhile, and what it prints goes elsewhere
    out = sys.__stdout__
    numbers = iter(range(1, 10_000))
    question = ScaleQuestion.of(stages=plan.stages)
    began = time.perf_counter()
    layouts = Layouts(subject, question)
    captured = time.perf_counter()
    chips = plan.together[-1][2]
    _timed(layouts, replace(question, ipus=(max(plan.stages),), target=chips), next(numbers))
    print(
        f"once for a program: captured in {captured - began:.1f} s, cut for {', '.join(chips)} in "
        f"{time.perf_counter() - captured:.1f} s",
        file=out,
    )
    single = {ipus: replace(question, ipus=(ipus,), target=chips[:1], mode=(WEAK,)) for ipus in plan.row_ipus}
    figures.row_seconds, figures.row_layouts = _shortest(layouts, single, plan.rounds, numbers)
    for ipus, seconds in figures.row_seconds.items():
        print(
            f"a row of {ipus:>4} IPUs: {seconds:.3f} s, {figures.row_layouts[ipus]} layouts",
            file=out,
            flush=True,
        )
    figures.growth = figures.row_seconds[max(plan.row_ipus)] / figures.row_seconds[plan.small]
    print(
        f"{max(plan.row_ipus)} IPUs take {figures.growth:.2f} times as long as {plan.small} ({GROWTH_TARGET}) "
        f"{_verdict(figures.growth <= GROWTH_TARGET)}",
        file=out,
    )
    several = {
        len(asked.ipus) * len(asked.modes) * len(asked.targets): asked for asked in _together(question, plan)
    }
    figures.together_seconds, _ = _shortest(layouts, several, plan.rounds, numbers)
    for rows, seconds in figures.together_seconds.items():
        print(f"{rows:>3} rows: {seconds:.2f} s", file=out, flush=True)
    figures.seconds_per_row, figures.off_the_line = line(figures.together_seconds)
    print(
        f"a row more takes {figures.seconds_per_row:.3f} s; off the straight line by at most "
        f"{figures.off_the_line:.1%} ({LINE_TARGET:.0%}) {_verdict(figures.off_the_line <= LINE_TARGET)}",
        file=out, flush=True,
    )  # fmt: skip


def _together(question: ScaleQuestion, plan: Plan) -> Iterator[ScaleQuestion]:
    for ipus, modes, targets in plan.together:
        yield replace(question, ipus=ipus, mode=modes, target=targets)


def _shortest(
    layouts: Layouts, asked: dict[int, ScaleQuestion], rounds: int, numbers: Iterator[int]
) -> tuple[dict[int, float], dict[int, int]]:
    """The shortest time of each question, all of them by turns; and its layouts."""
    times: dict[int, list[float]] = {key: [] for key in asked}
    counts: dict[int, int] = {}
    for _ in range(rounds):
        for key, question in asked.items():
            seconds, counts[key] = _timed(layouts, question, next(numbers))
            times[key].append(seconds)
    return {key: min(each) for key, each in times.items()}, counts


def _timed(layouts: Layouts, question: ScaleQuestion, number: int) -> tuple[float, int]:
    """Seconds of all rows of a question, with a batch that was not asked about before; and layouts with figures."""
    micro_batch = layouts.subject.micro_batch
    batches = Batches(micro_batch, _PER_IPU + number, micro_batch * max(_SIZES) * (_PER_IPU + _MORE * number))
    gc.collect()
    # processor time of this one thread: what else the machine does matters little
    began = time.process_time()
    rows = sizes(layouts, question, batches)
    seconds = time.process_time() - began
    problems = [layout.problem for row in rows for layout in row.layouts if layout.problem]
    if problems:
        raise RuntimeError(f"a layout could not be modelled, so its time means nothing: {problems[0]}")
    return seconds, sum(len(row.layouts) for row in rows)


def line(seconds: dict[int, float]) -> tuple[float, float]:
    """Seconds of one more row, by least squares; and the largest share of its time that a point is off the line."""
    rows, times = np.array(list(seconds)), np.array(list(seconds.values()))
    slope, begin = np.polyfit(rows, times, 1)
    return float(slope), float(np.max(np.abs(times - (begin + slope * rows)) / times))


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
