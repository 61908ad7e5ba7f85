"""How long the chip model takes: capture and estimate of programs, cold and with plans remembered.

    python -m benchmarks.modelling [--json OUT] [--rows bert,resnet] [--most-ops 50000]

Run from the repository's root. Each row is measured in a fresh process. `start` is what the first capture of a
process takes whatever it captures: modules that torch imports when they are first needed; a program of one layer
shows it, and it is in no other column. Cold is the row's first time; warm is the same again: captured anew, with the
plans of the first time remembered. Growth is the time of programs
of more and more ops, and the same program with more and more replicas. Times depend on the machine; the targets
are for two cores.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHILD_TIMEOUT_S = 600
#: time per op may grow by this factor between the smallest and the largest program
GROWTH_TARGET = 1.25
#: the time may change by this factor between one and many replicas
REPLICAS_TARGET = 1.25
REPLICAS = (1, 4, 16, 64)


@dataclass(frozen=True)
class Row:
    """A program to be captured and modelled, with the seconds that it may take."""

    key: str
    name: str
    cold_target: float
    warm_target: float | None
    #: parameters of a case of kind `model`
    parameters: dict[str, Any] = field(default_factory=dict)
    chip: str = "bow"
    precision: str = "fp16.16"


ROWS = (
    Row(
        "bert",
        "BERT-large training, 4 IPUs x 16 replicas",
        30.0,
        5.0,
        {
            "model": "bert",
            "arguments": {"size": "large", "sequence": 128, "masked": 20},
            "training": True,
            "optimizer": "lamb",
            "batch": 8,
            "accumulation": 512,
            "replicas": 16,
            "stages": ["layers.3", "layers.10", "layers.17", "head@0"],
            "recompute": "all",
            "proportion": [0.15, 0.25, 0.25, 0.25],
            "optimizer_state": "off_chip_sharded",
        },
    ),
    Row(
        "resnet",
        "ResNet-50 training, batch 20, 16 replicas",
        10.0,
        None,
        {
            "model": "resnet",
            "arguments": {"eight_bit_input": True},
            "training": True,
            "optimizer": "momentum",
            "batch": 20,
            "accumulation": 6,
            "replicas": 16,
            "proportion": 0.15,
            "device_iterations": 100,
        },
    ),
    Row(
        "workshop",
        "workshop CNN training, batch 16",
        1.0,
        None,
        {
            "model": "workshop_cnn",
            "arguments": {"image": 28},
            "training": True,
            "optimizer": "adam",
            "batch": 16,
            "device_iterations": 50,
        },
        chip="mk2",
        precision="fp32",
    ),
)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the tables, write the JSON file; 1 if something could not be measured."""
    options = _parser().parse_args(arguments)
    rows = [row for row in ROWS if options.rows is None or row.key in options.rows.split(",")]
    if options.child:
        figures = _growth(options.most_ops) if options.child == "growth" else _measured(_row(options.child))
        pathlib.Path(options.json).write_text(json.dumps(figures))
        return 0
    found: dict[str, Any] = {"rows": [], "growth": None}
    failed = False
    print(f"{_HEAD}\n{'-' * len(_HEAD)}")
    for row in rows:
        figures = _in_child(row.key, options.most_ops)
        failed |= "error" in figures
        found["rows"].append({"name": row.name, **figures})
        print(table_line(row, figures), flush=True)
    if options.rows is None or "growth" in options.rows.split(","):
        figures = _in_child("growth", options.most_ops)
        failed |= "error" in figures
        found["growth"] = figures
        _print_growth(figures)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    return int(failed)


_HEAD = (
    f"{'program':46} {'ops':>6} {'start s':>7} {'capture s':>9} {'model s':>8} {'cold s (max)':>14} "
    f"{'capture s':>9} {'model s':>8} {'warm s (max)':>14}"
)


def table_line(row: Row, figures: dict[str, Any]) -> str:
    """One line of the table, targets beside the sums."""
    if "error" in figures:
        return f"{row.name:46} not measured: {figures['error']}"
    cells = [f"{row.name:46} {figures['ops']:6} {figures['start_s']:7.2f}"]
    missed = []
    for part, target in (("cold", row.cold_target), ("warm", row.warm_target)):
        total = figures[part]["capture_s"] + figures[part]["model_s"]
        limit = "" if target is None else f"({target:.0f})"
        cells.append(
            f"{figures[part]['capture_s']:9.2f} {figures[part]['model_s']:8.2f} {total:9.2f} {limit:>4}"
        )
        if target is not None and round(total, 2) > target:
            missed.append(part)
    return " ".join(cells) + ("  MISSED " + ", ".join(missed) if missed else "  met")


def _measured(row: Row) -> dict[str, Any]:
    """Inside a measuring process: the row cold, then warm."""
    from dataclasses import replace

    from .fidelity_cases import Case
    from .fidelity_evaluate import Evaluator
    from .fidelity_models import forget as forget_flat
    from .fidelity_models import model_estimate
    from .models import capturing

    case = Case(
        row.key, "model", row.chip, "throughput", 1.0, "items/s", "", "training",
        precision=row.precision, parameters=row.parameters,
    )  # fmt: skip
    small = replace(
        case, parameters={"model": "mlp", "batch": 2, "training": True, "arguments": {"layers": 0}}
    )
    began = time.perf_counter()
    model_estimate(small, Evaluator())
    figures: dict[str, Any] = {"start_s": time.perf_counter() - began}
    for part in ("cold", "warm"):
        evaluator = Evaluator()  # estimates are made anew; plans are kept beside it
        capturing.forget()
        forget_flat()
        began = time.perf_counter()
        found = model_estimate(case, evaluator)
        whole = time.perf_counter() - began
        capture = capturing.seconds_of_all()
        figures[part] = {"capture_s": capture, "model_s": whole - capture}
        figures["ops"] = len(found.program.ops)
    return figures


def _growth(most: int) -> dict[str, Any]:
    """Times of ever longer programs, and of one program with ever more replicas."""
    from dataclasses import replace

    from tremula.estimate.estimate import estimate
    from tremula.frontends.torch.rules.program import program_of
    from tremula.hardware.catalogue import target
    from tremula.program.loops import Loops
    from tremula.schedule.deployment import Deployment

    from .models.capturing import Recipe, captured

    lengths = []
    ops = 50
    while ops < most:
        lengths.append(ops)
        ops *= 10
    lengths.append(most)
    sizes = []
    for wanted in lengths:
        recipe = Recipe("mlp", (("hidden", 64), ("layers", max(1, wanted // 26))), "fp16", 16, True, "adam")
        capture = captured(recipe)
        program = capture.with_loops(Loops())
        began = time.perf_counter()
        found = estimate(program_of(program), Deployment(), target("bow"))
        seconds = time.perf_counter() - began
        sizes.append({"ops": len(found.program.ops), "capture_s": capture.seconds, "model_s": seconds})
    middle = captured(Recipe("mlp", (("hidden", 64), ("layers", 40)), "fp16", 16, True, "adam"))
    replicas = []
    for count in REPLICAS:
        program = replace(middle.program, loops=Loops(replicas=count))
        began = time.perf_counter()
        estimate(program_of(program), Deployment(), target("bow", count))
        replicas.append({"replicas": count, "model_s": time.perf_counter() - began})
    return {"sizes": sizes, "replicas": replicas}


def _print_growth(figures: dict[str, Any]) -> None:
    if "error" in figures:
        print(f"growth not measured: {figures['error']}")
        return
    print(f"\n{'ops':>8} {'capture s':>10} {'model s':>10} {'model µs per op':>16}")
    for each in figures["sizes"]:
        per_op = 1e6 * each["model_s"] / each["ops"]
        print(f"{each['ops']:8} {each['capture_s']:10.2f} {each['model_s']:10.2f} {per_op:16.1f}")
    # the smallest programs are mostly planning; growth is between the two largest
    before, last = figures["sizes"][-2:]
    growth = (last["model_s"] / last["ops"]) / (before["model_s"] / before["ops"])
    print(
        f"time per op grows by {growth:.2f} (at most {GROWTH_TARGET}): {'met' if growth <= GROWTH_TARGET else 'MISSED'}"
    )
    times = [each["model_s"] for each in figures["replicas"]]
    change = max(times[1:]) / min(times[1:])
    listed = ", ".join(f"{each['replicas']}: {each['model_s']:.2f} s" for each in figures["replicas"])
    verdict = "met" if change <= REPLICAS_TARGET else "MISSED"
    print(f"replicas {listed}; changes by {change:.2f} (at most {REPLICAS_TARGET}): {verdict}")


def _in_child(key: str, most: int) -> dict[str, Any]:
    """Measured in a fresh process, so that nothing is remembered."""
    with tempfile.TemporaryDirectory(prefix="tremula-modelling-") as folder:
        answer = pathlib.Path(folder) / "answer.json"
        command = [sys.executable, "-m", "benchmarks.modelling", "--child", key, "--json", str(answer)]
        command += ["--most-ops", str(most)]
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=CHILD_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return {"error": f"gave up after {CHILD_TIMEOUT_S} s"}
        if done.returncode != 0 or not answer.exists():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return {"error": f"exit status {done.returncode}: {last}"}
        figures: dict[str, Any] = json.loads(answer.read_text())
        return figures


def _row(key: str) -> Row:
    return next(row for row in ROWS if row.key == key)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.modelling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    keys = ", ".join([*(row.key for row in ROWS), "growth"])
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file as well")
    parser.add_argument("--rows", metavar="A,B", help=f"only these; there are {keys}")
    parser.add_argument(
        "--most-ops", type=int, default=50_000, help="of the largest program (default 50,000)"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
