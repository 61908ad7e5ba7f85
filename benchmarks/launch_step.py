"""A training step with gradients summed over two processes: wrapped models beside torch's own data parallelism.

    python -m benchmarks.launch_step [--json OUT] [--rows mlp,cnn,transformer] [--rounds 9] [--seconds 1.0]
                                     [--execution quick]

Run from the repository's root. Two processes are started as the launcher starts instances. Each trains the same
model, from the same weights, with the same optimizer, on the same batches, in two ways in turn: wrapped with
popdist.poptorch.Options, and with DistributedDataParallel over gloo. A round is a stretch of steps of the one and one
of the other; its time is that of the slower process. Printed are the medians over the rounds: lower is better.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
INSTANCES = 2
#: our time / theirs
TARGET = 1.05
CHILD_TIMEOUT_S = 900
_HEAD = f"{'row':46} {'parameters':>10} {'DDP ms':>9} {'ours ms':>9} {'ratio (max)':>13} {'':4} our form"


@dataclass(frozen=True)
class Row:
    """One model: what it is called, its samples per process and step, and the optimizer."""

    key: str
    title: str
    batch: int
    optimizer: str


ROWS = (
    Row("mlp", "MLP 784-1024-1024-10, batch 64, SGD", 64, "sgd"),
    Row("cnn", "CNN of six convolutions, batch 16, SGD", 16, "sgd"),
    Row("transformer", "two transformer layers of 512, batch 4 x 64, Adam", 4, "adam"),
)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table; 1 if a row could not be measured or misses its target."""
    options = _parser().parse_args(arguments)
    rows = [row for row in ROWS if not options.rows or row.key in options.rows.split(",")]
    if options.child:
        _child(rows[0], options)
        return 0
    print(f"{INSTANCES} processes, one thread each; ratio: our time per step / DistributedDataParallel's")
    print(f"{_HEAD}\n{'-' * len(_HEAD)}")
    figures, failed = [], False
    for row in rows:
        try:
            figure = measured(row, options)
        except RuntimeError as problem:
            failed = True
            print(f"{row.title:46} not measured: {problem}")
            continue
        figures.append({"row": row.key, **figure})
        verdict = "ok  " if figure["ratio"] <= TARGET else "MISS"
        print(
            f"{row.title:46} {figure['parameters']:>10,} {figure['theirs_ms']:9.2f} {figure['ours_ms']:9.2f} "
            f"{figure['ratio']:6.2f} ({TARGET:.2f}) {verdict} {figure['form']}",
            flush=True,
        )
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=2))
    return int(failed or any(figure["ratio"] > TARGET for figure in figures))


def measured(row: Row, options: argparse.Namespace) -> dict[str, Any]:
    """Figures of one row, from fresh processes.

    Raises:
        RuntimeError: a process failed; says how.
    """
    from torch import distributed

    store = distributed.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
    with tempfile.TemporaryDirectory(prefix="tremula-launch-") as scratch:
        answer = pathlib.Path(scratch) / "answer.json"
        command = [sys.executable, "-m", "benchmarks.launch_step", "--child", "--rows", row.key]
        command += ["--rounds", str(options.rounds), "--seconds", str(options.seconds), "--json", str(answer)]
        processes = [
            subprocess.Popen(
                command,
                cwd=ROOT,
                env=_variables(rank, store.port, scratch, options.execution),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(INSTANCES)
        ]
        try:
            for rank, process in enumerate(processes):
                error = process.communicate(timeout=CHILD_TIMEOUT_S)[1]
                if process.returncode != 0:
                    last = (error.strip().splitlines() or ["no message"])[-1]
                    raise RuntimeError(f"instance {rank}: exit status {process.returncode}: {last}")
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"gave up after {CHILD_TIMEOUT_S} s") from None
        finally:
            for process in processes:
                process.kill()
                process.wait()
        found: dict[str, Any] = json.loads(answer.read_text())
        return found


def _variables(rank: int, port: int, scratch: str, execution: str) -> dict[str, str]:
    """What the launcher would tell an instance."""
    return {
        **os.environ,
        "POPDIST_NUM_TOTAL_REPLICAS": str(INSTANCES),
        "POPDIST_NUM_LOCAL_REPLICAS": "1",
        "POPDIST_NUM_IPUS_PER_REPLICA": "1",
        "POPDIST_REPLICA_INDEX_OFFSET": str(rank),
        "POPDIST_LOCAL_INSTANCE_INDEX": str(rank),
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_SIZE": str(INSTANCES),
        "RANK": str(rank),
        "WORLD_SIZE": str(INSTANCES),
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(INSTANCES),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "TREMULA_VIRTUAL_IPUS": "0",
        "TREMULA_CHIP_MODEL": "off",
        "TREMULA_SUMMARY": "0",
        "TREMULA_STATE_DIR": f"{scratch}/state",
        "TREMULA_CACHE_DIR": f"{scratch}/cache",
        "TREMULA_EXECUTION": execution,
    }


def _child(row: Row, options: argparse.Namespace) -> None:
    """One of the processes."""
    import torch
    from torch import distributed

    distributed.init_process_group("gloo")
    model, inputs = _model(row)
    theirs = _theirs(row, copy.deepcopy(model), inputs)
    ours, executor = _ours(row, copy.deepcopy(model), inputs)

    def steps_in(run: Callable[[], None]) -> int:
        for _ in range(3):
            run()
        started = time.perf_counter()
        for _ in range(3):
            run()
        count = torch.tensor([max(3, int(options.seconds * 3 / (time.perf_counter() - started)))])
        distributed.all_reduce(count, distributed.ReduceOp.MIN)
        return int(count)

    def seconds_per_step(run: Callable[[], None], count: int) -> float:
        distributed.barrier()
        started = time.perf_counter()
        for _ in range(count):
            run()
        slower = torch.tensor([(time.perf_counter() - started) / count])
        distributed.all_reduce(slower, distributed.ReduceOp.MAX)
        return float(slower)

    count = min(steps_in(theirs), steps_in(ours))
    rounds = [(seconds_per_step(theirs, count), seconds_per_step(ours, count)) for _ in range(options.rounds)]
    if distributed.get_rank() == 0:
        figure = {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "theirs_ms": 1e3 * statistics.median(theirs for theirs, _ in rounds),
            "ours_ms": 1e3 * statistics.median(ours for _, ours in rounds),
            "ratio": statistics.median(ours / theirs for theirs, ours in rounds),
            "form": executor._compiled().executable.form,
        }
        pathlib.Path(options.json).write_text(json.dumps(figure))
    distributed.barrier()
    distributed.destroy_process_group()


def _model(row: Row) -> tuple[Any, tuple[Any, ...]]:
    import torch
    from torch import nn
    from torch.nn import functional

    from .speed_models import CifarCnn

    class Classifier(nn.Module):
        def __init__(self, body: nn.Module) -> None:
            super().__init__()
            self.body = body

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> Any:
            x = self.body(x)
            return x, functional.cross_entropy(x, labels)

    torch.manual_seed(0)
    rank = int(os.environ["RANK"])
    generator = torch.Generator().manual_seed(rank)
    labels = torch.randint(0, 10, (row.batch,), generator=generator)
    if row.key == "cnn":
        return CifarCnn(), (torch.randn(row.batch, 3, 32, 32, generator=generator), labels)
    if row.key == "mlp":
        layers = [nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)]
        return Classifier(nn.Sequential(*layers)), (
            torch.randn(row.batch, 784, generator=generator),
            labels,
        )
    layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
    body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    model = Classifier(nn.Sequential(body, nn.Flatten(), nn.Linear(64 * 512, 10)))
    return model, (torch.randn(row.batch, 64, 512, generator=generator), labels)


def _theirs(row: Row, model: Any, inputs: tuple[Any, ...]) -> Callable[[], None]:
    import torch
    from torch.nn.parallel import DistributedDataParallel

    from . import speed_models as rates

    parallel = DistributedDataParallel(model)
    optimizer: torch.optim.Optimizer
    if row.optimizer == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), lr=rates.SGD_RATE, momentum=rates.SGD_MOMENTUM)
    else:
        optimizer = torch.optim.Adam(model.parameters(), lr=rates.ADAM_RATE)

    def step() -> None:
        optimizer.zero_grad()
        parallel(*inputs)[1].backward()
        optimizer.step()

    return step


def _ours(row: Row, model: Any, inputs: tuple[Any, ...]) -> tuple[Callable[[], None], Any]:
    import popdist.poptorch
    import poptorch

    from . import speed_models as rates

    options = popdist.poptorch.Options().showCompilationProgressBar(False)
    optimizer: Any
    if row.optimizer == "sgd":
        optimizer = poptorch.optim.SGD(model.parameters(), lr=rates.SGD_RATE, momentum=rates.SGD_MOMENTUM)
    else:
        optimizer = poptorch.optim.Adam(model.parameters(), lr=rates.ADAM_RATE)
    executor = poptorch.trainingModel(model, options, optimizer)

    def step() -> None:
        executor(*inputs)

    return step, executor


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.launch_step", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--rows", default="", help="keys of rows, separated by commas: " + ", ".join(r.key for r in ROWS)
    )
    parser.add_argument("--rounds", type=int, default=9, help="pairs of stretches (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="length of a stretch (default: %(default)s)"
    )
    parser.add_argument("--execution", default="quick", help="TREMULA_EXECUTION (default: %(default)s)")
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
