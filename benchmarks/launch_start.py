"""How long it takes to start two processes and see them end: `poprun` beside `torchrun`, the same program.

    python -m benchmarks.launch_start [--json OUT] [--rounds 7] [--rows trivial,poptorch]

Run from the repository's root. The two launchers take turns, so that a busy moment of the machine meets both; printed
are the medians of the wall times, and of the processor times of the launcher with all its processes: lower is better.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

INSTANCES = 2
#: seconds that poprun may take longer than torchrun
TARGET_S = 1.0
ROUNDS = 7
TIMEOUT_S = 120
#: what is started: nothing to speak of, and what every program of ours begins with
PROGRAMS = {"trivial": "print('started')\n", "poptorch": "import poptorch\nprint('started')\n"}
_HEAD = (
    f"{'program':10} {'torchrun s':>10} {'poprun s':>10} {'more s (max)':>14} {'':4} "
    f"{'processor s, theirs':>20} {'ours':>6}"
)


@dataclass(frozen=True)
class Times:
    """One start: seconds on the wall clock, and of processors."""

    wall: float
    processor: float


class StartError(Exception):
    """A launcher failed; says how."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, write the JSON file; 1 if a launcher failed or the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, help="write the figures there")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="starts of each launcher")
    parser.add_argument("--rows", default=",".join(PROGRAMS), help=f"of {', '.join(PROGRAMS)}")
    options = parser.parse_args(arguments)
    names = options.rows.split(",")
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        print(f"no row is called {', '.join(unknown)}; there are {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    print(f"{INSTANCES} processes, {options.rounds} rounds; measured on this host")
    print(f"{_HEAD}\n{'-' * len(_HEAD)}")
    figures = []
    for name in names:
        try:
            figures.append(measure(name, options.rounds))
        except StartError as problem:
            print(f"{name:10} not measured: {problem}")
            return 1
        print(table_line(figures[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return int(any(_missed(figure) for figure in figures))


def measure(name: str, rounds: int = ROUNDS) -> dict[str, Any]:
    """The figures of one program: medians over rounds in which both launchers start it.

    Raises:
        StartError: a launcher failed.
    """
    with tempfile.TemporaryDirectory(prefix="launch-start-") as folder:
        program = pathlib.Path(folder) / "program.py"
        program.write_text(PROGRAMS[name], encoding="utf-8")
        environment = {
            **os.environ,
            "TREMULA_STATE_DIR": folder,
            "OMP_NUM_THREADS": "1",
            "TREMULA_SUMMARY": "0",
        }
        lines = {
            "torchrun": [
                *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
                *("--nproc-per-node", str(INSTANCES), str(program)),
            ],
            "poprun": [
                *(sys.executable, "-m", "tremula.launch"),
                *("--num-instances", str(INSTANCES), "--num-replicas", str(INSTANCES)),
                *(sys.executable, str(program)),
            ],
        }
        times: dict[str, list[Times]] = {launcher: [] for launcher in lines}
        for turn in range(rounds + 1):
            for launcher, line in lines.items():
                taken = _start(line, environment)
                if turn:  # the first one reads files from the disk
                    times[launcher].append(taken)
    theirs, ours = (
        Times(
            *(
                statistics.median(getattr(each, part) for each in times[launcher])
                for part in ("wall", "processor")
            )
        )
        for launcher in ("torchrun", "poprun")
    )
    return {
        "name": name,
        "torchrun_s": theirs.wall,
        "poprun_s": ours.wall,
        "more_s": ours.wall - theirs.wall,
        "target_s": TARGET_S,
        "torchrun_processor_s": theirs.processor,
        "poprun_processor_s": ours.processor,
        "rounds": rounds,
    }


def table_line(figure: dict[str, Any]) -> str:
    """One row of the table, with the target beside the figure."""
    verdict = "MISS" if _missed(figure) else "ok  "
    return (
        f"{figure['name']:10} {figure['torchrun_s']:10.2f} {figure['poprun_s']:10.2f} "
        f"{figure['more_s']:7.2f} ({figure['target_s']:.2f}) {verdict} "
        f"{figure['torchrun_processor_s']:20.2f} {figure['poprun_processor_s']:6.2f}"
    )


def _missed(figure: dict[str, Any]) -> bool:
    return bool(round(figure["more_s"], 2) > figure["target_s"])


def _start(line: list[str], environment: dict[str, str]) -> Times:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    try:
        done = subprocess.run(
            line, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise StartError(f"{line[2]} takes longer than {TIMEOUT_S} s") from None
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode or done.stdout.count("started") != INSTANCES:
        raise StartError(f"{line[2]} failed with exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return Times(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if __name__ == "__main__":
    sys.exit(main())
