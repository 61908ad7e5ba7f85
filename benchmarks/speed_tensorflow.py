"""Speed of Keras models under an IPUStrategy beside stock `model.fit` and hand-written loops, in one run on this host.

    python -m benchmarks.speed_tensorflow [--rows mlp,mnist-cnn] [--steps 200] [--rounds 7] [--json OUT] [--no-imports]

The rows `session-*` are compiled programs in sessions beside the same stock graph driven by `Session.run` in a loop
(benchmarks/speed_sessions.py), `two-instances` is CosmoFlow in two processes under poprun beside one.

Run from the repository's root, in an environment with TensorFlow. For each row: the time of five epochs through `fit`
under an IPUStrategy divided by that of stock `fit` with the same `steps_per_execution`, and by that of the fastest
hand-written `tf.function` loop (data from a dataset or gathered in the loop, with both generations of optimizers, the
same metrics). The ratio is the median of interleaved rounds; beside it that of processor times. Times depend on the
machine; the ratios are the point. On a busy machine look at the ratios of processor time beside those of a miss.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

from .keras_contenders import EPOCHS, ROWS, Row, contenders

FIT_TARGET, LOOP_TARGET = 1.00, 1.05
SESSION_TARGET, INSTANCES_TARGET = 1.00, 1.6
#: programs in sessions: the name of the row -> the row of `benchmarks.speed_sessions` and its steps
SESSIONS = {"session-mlp": ("mlp", 100), "session-cosmoflow": ("cosmoflow", 20)}
INSTANCES = "two-instances"
IMPORT_TARGET_S, START_TARGET_S = 0.15, 0.001
_HEAD = (
    f"{'row':<12}{'ms/step':>9}{'stock fit':>11}{'cpu':>7}{'best loop':>11}{'cpu':>7}  {'loop':<22}targets"
)

_IMPORT = """
import time
import tensorflow
began = time.perf_counter()
from tensorflow.python import ipu
print(time.perf_counter() - began)
"""
_START = """
import sys, time
sys.modules.pop("tremula_startup", None)  # a .pth file has imported it
began = time.perf_counter()
import tremula_startup
print(time.perf_counter() - began)
"""


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the table; 1 if a target was missed."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("TREMULA_SUMMARY", "0")
    chosen = [row for row in ROWS if options.rows is None or row.name in options.rows.split(",")]
    print(f"{options.steps} steps per execution, {options.rounds} rounds; ratios: our time / theirs")
    print(f"{_HEAD}\n{'-' * len(_HEAD)}")
    figures = []
    for row in chosen:
        figure = measured(row, options.steps, options.rounds)
        figures.append(figure)
        print(_line(figure), flush=True)
    wanted = [*SESSIONS, INSTANCES] if options.rows is None else options.rows.split(",")
    figures += [_session(name, options.rounds) for name in SESSIONS if name in wanted]
    if INSTANCES in wanted:
        figures.append(_two_instances(options.rounds))
    if not options.no_imports:
        figures.append(_imports(options.rounds))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
    return int(any(figure["missed"] for figure in figures))


def measured(row: Row, steps: int, rounds: int) -> dict[str, Any]:
    """The figures of one row: ratios of wall and processor time."""
    runs = contenders(row, steps)
    for run in runs.values():
        run()
    walls: dict[str, list[float]] = {name: [] for name in runs}
    cpus: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            walls[name].append(time.perf_counter() - wall)
            cpus[name].append(time.process_time() - cpu)
    loops = [name for name in runs if name not in ("ours", "stock fit")]
    best = min(loops, key=lambda name: statistics.median(walls[name]))
    figure: dict[str, Any] = {
        "row": row.name,
        "ms_per_step": 1000 * statistics.median(walls["ours"]) / (EPOCHS * steps),
        "stock": _ratio(walls["ours"], walls["stock fit"]),
        "stock_cpu": _ratio(cpus["ours"], cpus["stock fit"]),
        "loop": _ratio(walls["ours"], walls[best]),
        "loop_cpu": _ratio(cpus["ours"], cpus[best]),
        "best_loop": best,
    }
    figure["missed"] = [
        *(["stock fit"] if figure["stock"] > FIT_TARGET else []),
        *(["loop"] if figure["loop"] > LOOP_TARGET else []),
    ]
    return figure


def _ratio(ours: list[float], theirs: list[float]) -> float:
    """The median of the ratios of rounds, which happened at about the same time."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def _line(figure: dict[str, Any]) -> str:
    verdict = f"missed: {', '.join(figure['missed'])}" if figure["missed"] else "met"
    return (
        f"{figure['row']:<12}{figure['ms_per_step']:>9.3f}{figure['stock']:>11.2f}{figure['stock_cpu']:>7.2f}"
        f"{figure['loop']:>11.2f}{figure['loop_cpu']:>7.2f}  {figure['best_loop']:<22}{verdict}"
    )


def _session(name: str, rounds: int) -> dict[str, Any]:
    """A compiled loop in a session beside a loop of `Session.run`."""
    row, steps = SESSIONS[name]
    figure: dict[str, Any] = _sessions_child([], [row, "--steps", str(steps), "--rounds", str(rounds)])[0]
    figure["missed"] = ["Session.run"] if figure["stock"] > SESSION_TARGET else []
    print(
        f"{name}: {figure['ms_per_step']:.2f} ms/step, {figure['stock']:.2f} of the same stock graph driven by "
        f"Session.run (at most {SESSION_TARGET:.2f})",
        flush=True,
    )
    return figure


def _two_instances(rounds: int) -> dict[str, Any]:
    """The samples per second of two instances of CosmoFlow beside those of one, each with one thread."""
    words = ["cosmoflow-rate", "--steps", "10", "--rounds", str(rounds), "--threads", "1"]
    poprun = [
        "-m",
        "tremula.launch",
        "--num-instances",
        "2",
        "--num-replicas",
        "2",
        "--ipus-per-replica",
        "1",
    ]
    one = _sessions_child([], words)[0]["samples_per_second"]
    two = sum(figure["samples_per_second"] for figure in _sessions_child([*poprun, sys.executable], words))
    print(
        f"{INSTANCES}: {two:.1f} samples/s with two instances of CosmoFlow, {one:.1f} with one: {two / one:.2f} times "
        f"(at least {INSTANCES_TARGET})",
        flush=True,
    )
    missed = [INSTANCES] if two / one < INSTANCES_TARGET else []
    return {"row": INSTANCES, "one": one, "two": two, "missed": missed}


def _sessions_child(before: list[str], words: list[str]) -> list[dict[str, Any]]:
    """What one or several processes of `benchmarks.speed_sessions` print."""
    command = [sys.executable, *before, "-m", "benchmarks.speed_sessions", *words]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [
        json.loads(line[line.index("{") :]) for line in output.splitlines() if '"samples_per_second"' in line
    ]


def _imports(rounds: int) -> dict[str, Any]:
    seconds = {}
    for name, code in (("import", _IMPORT), ("start", _START)):
        times = [float(_child(code)) for _ in range(min(rounds, 5))]
        seconds[name] = min(times)
    missed = [
        *(["import"] if seconds["import"] > IMPORT_TARGET_S else []),
        *(["start"] if seconds["start"] > START_TARGET_S else []),
    ]
    print(
        f"import of tensorflow.python.ipu over tensorflow: {seconds['import']:.3f} s (at most {IMPORT_TARGET_S} s)"
    )
    start = 1000 * seconds["start"]
    print(f"start of the interpreter with the finder: {start:.2f} ms (below {1000 * START_TARGET_S:.0f} ms)")
    return {"row": "imports", **seconds, "missed": missed}


def _child(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()[-1]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", help="names of rows, with commas")
    parser.add_argument("--steps", type=int, default=200, help="steps per execution, and per epoch")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="also write the figures there")
    parser.add_argument("--no-imports", action="store_true", help="leave out the times of imports")
    return parser


if __name__ == "__main__":
    sys.exit(main())
