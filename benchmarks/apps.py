"""The two science workloads beside what they replace: a training step, and whether reading keeps up with it.

    python -m benchmarks.apps [--rounds 7] [--rows a21,gc64] [--compiled]

Run from the repository's root, on a machine that is otherwise idle. A training step of the same network, from the same
weights, on the same batch, with the same optimizer, is taken in turn through `poptorch` and in a plain eager loop;
printed are medians over the rounds. Reading is from files that are generated for it, in random order, in one
process; its memory is the most that a fresh process takes beyond what it had before.
"""

from __future__ import annotations

import argparse
import copy
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

os.environ.setdefault("OMP_NUM_THREADS", "1")

#: our time / that of the eager loop
STEP_TARGET = 1.00
#: events read a second / events trained on a second
READING_TARGET = 3.0
#: MiB that reading a file may take, however large it is: HDF5 itself keeps up to 32 of a file's chunk index
MEMORY_TARGET_MIB = 64
ROUNDS = 7
_FILE_EVENTS = 64


@dataclass(frozen=True)
class Workload:
    """A training step in two forms, and how its events are read."""

    title: str
    batch: int
    make: Callable[[], tuple[Any, tuple[Any, ...]]]
    generate: Callable[[pathlib.Path, int], None]
    #: the expression that reads all events of a file, for a fresh process
    reads: str


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="steps of each kind")
    parser.add_argument("--rows", default=",".join(WORKLOADS), help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument(
        "--compiled", action="store_true", help="wait for compiled code first, which takes minutes"
    )
    options = parser.parse_args(arguments)
    os.environ.setdefault("TREMULA_EXECUTION", "auto" if options.compiled else "quick")
    missed = False
    for name in options.rows.split(","):
        missed |= _row(WORKLOADS[name], options.rounds, options.compiled)
    return int(missed)


def _row(workload: Workload, rounds: int, compiled: bool) -> bool:
    eager, ours, form = _steps(workload, rounds, compiled)
    ratio = ours / eager
    print(
        f"{workload.title}: eager {eager:.3f} s, poptorch {ours:.3f} s ({form} form), "
        f"ratio {ratio:.2f} ({STEP_TARGET:.2f}) {_verdict(ratio <= STEP_TARGET)}",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="apps-") as folder:
        some, many = pathlib.Path(folder) / "some.h5", pathlib.Path(folder) / "many.h5"
        workload.generate(some, _FILE_EVENTS)
        workload.generate(many, 4 * _FILE_EVENTS)
        rate, _ = _reading(workload, some)
        peak_some, peak_many = (_reading(workload, path)[1] for path in (some, many))
    share = rate / (workload.batch / ours)
    mib = peak_many / 2**20
    print(
        f"  reading: {rate:,.0f} events/s, {share:,.0f} times what training takes ({READING_TARGET:.0f}) "
        f"{_verdict(share >= READING_TARGET)}; {peak_some / 2**20:.0f} MiB more for {_FILE_EVENTS} events, "
        f"{mib:.0f} for {4 * _FILE_EVENTS} ({MEMORY_TARGET_MIB}) {_verdict(mib <= MEMORY_TARGET_MIB)}",
        flush=True,
    )
    return ratio > STEP_TARGET or share < READING_TARGET or mib > MEMORY_TARGET_MIB


def _steps(workload: Workload, rounds: int, compiled: bool) -> tuple[float, float, str]:
    """Seconds of an eager step and of ours, and the form that ours ran in."""
    import torch

    import poptorch

    torch.manual_seed(0)
    model, batch = workload.make()
    twin = copy.deepcopy(model)
    optimizer = torch.optim.Adam(twin.parameters(), lr=1e-3)
    options = poptorch.Options().showCompilationProgressBar(False)
    wrapped = poptorch.trainingModel(model, options, poptorch.optim.Adam(model.parameters(), lr=1e-3))

    def eager() -> None:
        optimizer.zero_grad()
        twin(*batch)[1].backward()
        optimizer.step()

    wrapped.compile(*batch)
    if compiled:
        wrapped._session.executable.prepare(list(batch))
    times: dict[str, list[float]] = {"eager": [], "ours": []}
    for turn in range(rounds + 2):
        for name, step in (("eager", eager), ("ours", lambda: wrapped(*batch))):
            began = time.perf_counter()
            step()
            if turn >= 2:
                times[name].append(time.perf_counter() - began)
    form = wrapped._session.executable.form
    return statistics.median(times["eager"]), statistics.median(times["ours"]), form


def _reading(workload: Workload, path: pathlib.Path) -> tuple[float, float]:
    """Events a second, and the memory that reading takes, in a fresh process."""
    program = _READING.format(reads=workload.reads)
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    rate, peak = done.stdout.split()
    return float(rate), float(peak)


_READING = """
import random, sys, time
{reads}
def peak():  # of this program alone; getrusage would also count the one that started it
    with open("/proc/self/status") as file:
        return 1024 * int(next(line for line in file if line.startswith("VmHWM")).split()[1])
before = peak()
order = list(range(len(events)))
random.Random(0).shuffle(order)
began = time.perf_counter()
for position in order:
    one(position)
print(len(order) / (time.perf_counter() - began), peak() - before)
"""


def _verdict(met: bool) -> str:
    return "ok" if met else "MISS"


def _a21() -> tuple[Any, tuple[Any, ...]]:
    import torch
    from cosmictagger.losses import SegmentationLoss
    from cosmictagger.model import TrainingStep
    from cosmictagger.network import build
    from cosmictagger.network.configurations import configuration

    step = TrainingStep(build(configuration("a21", depth=5)), SegmentationLoss("light"))
    image = torch.rand(2, 3, 160, 256)
    label = torch.randint(0, 3, (2, 3, 160, 256), dtype=torch.uint8)
    return step, (image, label)


def _gc64() -> tuple[Any, tuple[Any, ...]]:
    import torch
    from cosmoflow.model import TrainingStep
    from cosmoflow.network import VARIANTS, CosmoFlow

    step = TrainingStep(CosmoFlow(VARIANTS["gc64"]))
    counts = torch.randint(0, 50, (1, 64, 64, 64, 4), dtype=torch.int16)
    return step, (counts, torch.rand(1, 4) * 2 - 1)


def _tagger_file(path: pathlib.Path, events: int) -> None:
    from cosmictagger.data import generate

    generate(path, events, 0, progress=False)


def _flow_file(path: pathlib.Path, samples: int) -> None:
    from cosmoflow.data.generate import GeneratedSamples
    from cosmoflow.data.writer import write_samples

    write_samples(path, GeneratedSamples(samples, 64), samples)


WORKLOADS = {
    "a21": Workload(
        "CosmicTagger a21, 160 x 256, batch 2",
        2,
        _a21,
        _tagger_file,
        "from cosmictagger.data import EventDataset, EventFiles\n"
        "events = EventDataset(EventFiles(sys.argv[1]), downsample=3)\none = events.__getitem__",
    ),
    "gc64": Workload(
        "CosmoFlow 64 x 64 x 64, batch 1",
        1,
        _gc64,
        _flow_file,
        "from cosmoflow.data.reader import SampleFiles\nevents = SampleFiles(sys.argv[1])\none = events.read",
    ),
}


if __name__ == "__main__":
    sys.exit(main())
