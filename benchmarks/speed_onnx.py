"""Speed of ONNX models in sessions: inference beside onnxruntime, training beside PyTorch's eager loop, in one run.

    python -m benchmarks.speed_onnx [--json OUT] [--rows bert,cnn-training] [--seconds 8] [--wait 120]
                                    [--threads 1] [--execution auto]

Run from the repository's root; needs onnxruntime (`pip install onnxruntime`) for the rows of inference. For each row:
our time per step divided by theirs, medians of interleaved rounds: lower is better. Times depend on the machine; the
ratios are the point. On a busy machine look at the ratio of processor time. The last column says whether results
agree: outputs with theirs, the losses of the first steps with a loop in float64, as closely as PyTorch's float32 loop
(the difference of ours, and of theirs).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from .speed_choice import chosen_rows
from .speed_process import ChildError, answer_of

INFERENCE_TARGET, TRAINING_TARGET = 1.10, 1.00


@dataclass(frozen=True)
class Row:
    """One line of the table: a network (a key of `speed_onnx_child.CASES`) and how it is run."""

    network: str
    name: str
    training: bool

    @property
    def key(self) -> str:
        """What `--rows` names."""
        return f"{self.network}-{'training' if self.training else 'inference'}"

    @property
    def other(self) -> str:
        """What is measured beside it."""
        return "PyTorch eager" if self.training else "onnxruntime"

    @property
    def target(self) -> float:
        """The most that the ratio should be."""
        return TRAINING_TARGET if self.training else INFERENCE_TARGET


NAMES = {
    "resnet50": "ResNet-50, batch 1",
    "bert": "BERT-base, 12 layers, sequence 128, batch 1",
    "dropout-bert": "BERT-base with dropout, sequence 128, batch 1",
    "cnn": "workshop CNN, batch 16",
}
ROWS = tuple(
    Row(network, name, training)
    for training in (False, True)
    for network, name in NAMES.items()
    if training or network != "dropout-bert"
)
_HEAD = (
    f"{'row':56} {'beside':13} {'theirs ms':>10} {'ours ms':>10} {'ratio (max)':>13} {'by CPU time':>11}      "
    "results; our form"
)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, write the JSON file; 1 if a row could not be measured, 2 if it cannot be tried."""
    options = _parser().parse_args(arguments)
    try:
        rows = chosen_rows(ROWS, options.rows)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if not all(row.training for row in rows) and importlib.util.find_spec("onnxruntime") is None:
        print(
            "onnxruntime is not installed, and the rows of inference compare with it: install it with "
            "`pip install onnxruntime`, or measure training alone with --rows resnet50-training,...",
            file=sys.stderr,
        )
        return 2
    if options.child:
        return _child(rows[0], options)
    print(f"{options.threads} thread(s), TREMULA_EXECUTION={options.execution}; ratios: our time / theirs")
    print(f"{_HEAD}\n{'-' * len(_HEAD)}")
    figures = []
    for row in rows:
        figures.append({"name": row.name, "key": row.key, "beside": row.other, **_measured(row, options)})
        print(table_line(row, figures[-1]), flush=True)
        if options.json:
            _write_json(options.json, figures)
    return int(any("error" in figure for figure in figures))


def table_line(row: Row, figure: dict[str, Any]) -> str:
    """One row of the table, with the target beside the ratio; a miss of both ratios or of the results is told."""
    name = f"{row.name}, {'training' if row.training else 'inference'}"
    if "error" in figure:
        return f"{name:56} not measured: {figure['error']}"
    results = "agree" if figure["agrees"] else "DIFFER"
    return (
        f"{name:56} {row.other:13} {figure['theirs_ms']:10.2f} {figure['ours_ms']:10.2f} "
        f"{figure['ratio']:6.2f} ({row.target:.2f}) {figure['ratio_cpu']:11.2f} {verdict(row, figure):4} "
        f"{results} ({', '.join(f'{each:.0e}' for each in figure['differences'])}); {figure['form']} "
        f"after {figure['settled_seconds']:.0f} s"
    )


def verdict(row: Row, figure: dict[str, Any]) -> str:
    """Whether a row reaches its target by the clock or, as told beside it, by processor time."""
    if not figure["agrees"]:
        return "MISS"
    # as printed: to two places
    if round(figure["ratio"], 2) <= row.target:
        return "ok"
    return "cpu" if round(figure["ratio_cpu"], 2) <= row.target else "MISS"


def _measured(row: Row, options: argparse.Namespace) -> dict[str, Any]:
    """A row's figures, from a fresh process."""
    with tempfile.TemporaryDirectory(prefix="tremula-speed-onnx-") as scratch:
        folder = pathlib.Path(scratch)
        answer = folder / "answer.json"
        command = [sys.executable, "-m", "benchmarks.speed_onnx", "--child", str(folder), "--rows", row.key]
        command += ["--json", str(answer), "--threads", str(options.threads)]
        command += ["--seconds", str(options.seconds), "--wait", str(options.wait)]
        variables = {
            **os.environ,
            "OMP_NUM_THREADS": str(options.threads),
            "TREMULA_EXECUTION": options.execution,
            "TREMULA_CACHE_DIR": str(folder / "cache"),
            "TREMULA_STATE_DIR": str(folder / "state"),
            "TREMULA_SUMMARY": "0",
        }
        try:
            return answer_of(command, variables, answer, row.key)
        except ChildError as error:
            return {"error": str(error)}


def _child(row: Row, options: argparse.Namespace) -> int:
    """Inside a measuring process."""
    import torch

    torch.set_num_threads(options.threads)
    from . import speed_onnx_child

    measure = speed_onnx_child.measure_training if row.training else speed_onnx_child.measure_inference
    _write_json(
        options.json, measure(row.network, pathlib.Path(options.child), options.seconds, options.wait)
    )
    return 0


def _write_json(path: str, value: Any) -> None:
    pathlib.Path(path).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed_onnx",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    keys = ", ".join(row.key for row in ROWS)
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file as well")
    parser.add_argument("--rows", metavar="A,B", help=f"only those that begin so; there are {keys}")
    parser.add_argument("--seconds", type=float, default=8.0, help="of steady state per row (default 8)")
    parser.add_argument(
        "--wait",
        type=float,
        default=120.0,
        help="seconds to wait for compiled code before measuring (default 120)",
    )
    parser.add_argument("--threads", type=int, default=1, help="of both sides (default 1)")
    parser.add_argument(
        "--execution", choices=("auto", "quick", "compiled"), default="auto",
        help="form of the session's program (default auto)",
    )  # fmt: skip
    parser.add_argument("--child", metavar="FOLDER", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
