"""Throughput of `poptorch.DataLoader` beside torch's own loader, in one run on this host.

    python -m benchmarks.dataloader [--json OUT] [--seconds 1] [--only TEXT]

Each row reads one data set through both loaders in turns and compares medians of samples per second; a ratio
above 1 means that ours is faster. `ratio` is against torch's loader with the same arguments (its batch is the
combined batch). An asynchronous loader without workers of its own still loads in one other process, so such
rows also have `ratio_process`: against torch's loader with one worker and as many batches loaded ahead.

The overlap rows put a step of a known length after each batch. `overlap` is the part of the shorter of loading
and computing that was hidden behind the other: 1 is all of it, 0 is one after the other.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, TensorDataset

import poptorch

#: batches at the beginning of an epoch that are not timed: what was loaded ahead must be used up first
WARM_BATCHES = 8
BUFFERS = 3


class Decoded(Dataset[tuple[torch.Tensor, int]]):
    """Small images that take about 0.2 ms each to make from bytes."""

    def __init__(self, length: int) -> None:
        self.raw = np.random.default_rng(0).integers(0, 256, (64, 3, 32, 32), dtype=np.uint8)
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = self.raw[index % 64].astype(np.float32)
        for _ in range(12):
            image = np.sqrt(image * image + 1.0)
        return torch.from_numpy(image - image.mean()), index % 10


class Small(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Sixteen numbers and a label per sample: all overhead."""

    def __init__(self, length: int) -> None:
        self.values = torch.randn(length, 16)
        self.labels = torch.arange(length)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.values[index], self.labels[index]


class Images(Dataset[tuple[torch.Tensor, int]]):
    """Images of 3×160×256 floats that are in memory."""

    def __init__(self, length: int) -> None:
        self.images = torch.randn(32, 3, 160, 256)
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.images[index % 32], index % 10


@dataclass(frozen=True)
class Case:
    """A data set and how it is read; `batches` is the length of an epoch."""

    name: str
    batch_size: int
    batches: int

    def dataset(self, combined: int) -> Any:
        samples = combined * self.batches
        if self.name == "in memory":
            return TensorDataset(torch.randn(samples, 1, 28, 28), torch.arange(samples) % 10)
        return {"decoded": Decoded, "images": Images, "small": Small}[self.name](samples)


CASES = (
    Case("in memory", 16, 120),
    Case("small", 16, 120),
    Case("decoded", 16, 40),
    Case("images", 4, 40),
)


def ours(case: Case, mode: str, workers: int, iterations: int, **more: Any) -> Any:
    options = poptorch.Options()
    options.deviceIterations(iterations)
    if mode != "Sync":
        more["async_options"] = {"buffer_size": BUFFERS}
    return poptorch.DataLoader(
        options,
        case.dataset(case.batch_size * iterations),
        batch_size=case.batch_size,
        num_workers=workers,
        mode=poptorch.DataLoaderMode[mode],
        **more,
    )


def torchs(case: Case, workers: int, iterations: int, ahead: int | None = None) -> Any:
    combined = case.batch_size * iterations
    return torch.utils.data.DataLoader(
        case.dataset(combined),
        batch_size=combined,
        num_workers=workers,
        persistent_workers=workers > 0,
        drop_last=True,
        prefetch_factor=ahead,
    )


def epoch_rate(loader: Any, combined: int) -> float:
    """Samples per second over one epoch, without its beginning."""
    count = -WARM_BATCHES
    start = 0.0
    for _ in loader:
        count += 1
        if count == 0:
            start = time.perf_counter()
    return count * combined / (time.perf_counter() - start)


def rates(loaders: dict[str, Any], combined: int, seconds: float) -> dict[str, float]:
    """Median rate of each loader; they take turns, in changing order, for `seconds` each."""
    for loader in loaders.values():
        epoch_rate(loader, combined)
    found: dict[str, list[float]] = {name: [] for name in loaders}
    end = time.perf_counter() + seconds * len(loaders)
    names = list(loaders)
    while time.perf_counter() < end or len(found[names[0]]) < 3:
        for name in names:
            found[name].append(epoch_rate(loaders[name], combined))
        names.reverse()
    return {name: statistics.median(values) for name, values in found.items()}


def throughput_rows(seconds: float, only: str) -> Iterator[dict[str, Any]]:
    for case in CASES:
        for iterations in (1, 16):
            if iterations == 16:
                case = Case(case.name, case.batch_size, max(24, case.batches // 4))
            for workers in (0, 2):
                for mode in ("Sync", "Async", "AsyncRebatched"):
                    name = f"{case.name}, {mode}, workers {workers}, iterations {iterations}"
                    if only not in name:
                        continue
                    combined = case.batch_size * iterations
                    loaders = {
                        "ours": ours(case, mode, workers, iterations),
                        "torch": torchs(case, workers, iterations),
                    }
                    if mode != "Sync" and workers == 0:
                        loaders["process"] = torchs(case, 1, iterations, BUFFERS)
                    rate = rates(loaders, combined, seconds)
                    loaders["ours"].terminate()
                    row = {"name": name, "samples_per_s": rate["ours"], "torch_samples_per_s": rate["torch"]}
                    row["ratio"] = rate["ours"] / rate["torch"]
                    if "process" in rate:
                        row["ratio_process"] = rate["ours"] / rate["process"]
                    yield row


def seconds_per_step(loader: Any, work: float) -> float:
    """Median seconds per step with a computation of `work` seconds after each batch."""
    times = []
    previous = None
    for _ in loader:
        if work:
            time.sleep(work)
        now = time.perf_counter()
        if previous is not None:
            times.append(now - previous)
        previous = now
    return statistics.fmean(times[WARM_BATCHES:])


def overlap_rows(only: str) -> Iterator[dict[str, Any]]:
    """Loading of about 5 ms per batch, beside a device that computes for half, as long and twice that.

    The step waits rather than computes: what is measured is the loader, not how two processes share cores.
    """
    case = Case("decoded", 16, 60)
    for factor in (0.5, 1.0, 2.0):
        name = f"overlap, step {factor} of loading"
        if only not in name:
            continue
        plain = ours(case, "Sync", 0, 1)
        seconds_per_step(plain, 0.0)
        loading = seconds_per_step(plain, 0.0)
        step = loading * factor
        row: dict[str, Any] = {"name": name, "load_ms": loading * 1e3, "step_ms": step * 1e3}
        loaders = {"async": ours(case, "Async", 0, 1), "torch": torchs(case, 1, 1, BUFFERS), "sync": plain}
        for label, loader in loaders.items():
            seconds_per_step(loader, step)
            per_step = statistics.median(seconds_per_step(loader, step) for _ in range(3))
            row[f"{label}_ms"] = per_step * 1e3
            row[f"{label}_overlap"] = (loading + step - per_step) / min(loading, step)
        loaders["async"].terminate()
        row["ratio"] = row["torch_ms"] / row["async_ms"]
        yield row


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--seconds", type=float, default=1.0, help="per loader and row (default: 1)")
    parser.add_argument("--only", default="", help="only rows whose name contains this text")
    given = parser.parse_args(arguments)
    torch.manual_seed(0)
    rows = []
    for row in throughput_rows(given.seconds, given.only):
        rows.append(row)
        process = f"{row['ratio_process']:6.2f}" if "ratio_process" in row else "      "
        print(
            f"{row['name']:48} {row['samples_per_s']:12,.0f} samples/s  torch {row['torch_samples_per_s']:12,.0f}"
            f"  ratio {row['ratio']:5.2f} {process}",
            flush=True,
        )
    for row in overlap_rows(given.only):
        rows.append(row)
        print(
            f"{row['name']:32} load {row['load_ms']:.2f} ms, step {row['step_ms']:.2f} ms: "
            f"Async {row['async_ms']:.2f} ms (overlap {row['async_overlap']:.2f}), "
            f"torch with a worker {row['torch_ms']:.2f} ms ({row['torch_overlap']:.2f}), "
            f"Sync {row['sync_ms']:.2f} ms",
            flush=True,
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
