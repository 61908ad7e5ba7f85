"""How fast the model trains and how fast samples can be read, in the lines that the original benchmark prints.

Times are measured on this host, by its clock. What the chip model says of an IPU stands beside them, and is called
modelled.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tremula.errors import Error
from tremula.ask import estimate_of

from cosmoflow.data.dataset import Source, sample_loader
from cosmoflow.data.sources import needed
from cosmoflow.on_device import TrainedModel
from cosmoflow.processes import Processes
from cosmoflow.settings import Config, ConfigError


@dataclass(frozen=True)
class ThroughputResult:
    """What was measured: seconds of each loop, and samples of all of them on all replicas."""

    loop_seconds: list[float]
    batches: int
    samples: int

    @property
    def samples_per_second(self) -> float:
        """Over all loops."""
        return self.samples / sum(self.loop_seconds)


def throughput(config: Config, processes: Processes, tell: Callable[[str], None] = print) -> ThroughputResult:
    """Train for a number of loops and say how fast.

    Args:
        config: the settings.
        processes: the processes of the run.
        tell: what to do with a line.
    """
    tell = tell if processes.first else lambda line: None
    iterations, loops = config.throughput.iterations, config.throughput.loops
    source = _enough(config, processes, needed(config, "train", processes))
    model = TrainedModel(config, processes, iterations)
    loader = sample_loader(
        source,
        model.options,
        config.device.batch,
        workers=config.data.workers,
        ahead=config.data.ahead,
        seed=config.seed,
        rank=processes.index,
        ranks=processes.count,
    )
    batches = _endless(loader)
    try:
        tell("Compiling and Warmup...")
        begin = time.perf_counter()
        counts, targets, _ = next(batches)
        model.train(counts, targets)
        processes.wait()
        warmup = time.perf_counter() - begin
        tell(f"Duration: {warmup:.3f} seconds\n")
        seconds = []
        for _ in range(loops):
            begin = time.perf_counter()
            counts, targets, _ = next(batches)
            model.train(counts, targets)
            processes.wait()
            seconds.append(time.perf_counter() - begin)
            tell(f"{seconds[-1] / iterations:.6f} sec/itr.")
    finally:
        if config.data.ahead:
            loader.terminate()
    # one batch is what all replicas of all processes take for one update
    each = config.device.batch * config.device.accumulation * processes.replicas
    result = ThroughputResult(seconds, loops * iterations, loops * iterations * each)
    tell("\nIteration, Batches/Second, Samples/Second")
    for number, taken in enumerate(seconds):
        tell(f"{(number + 1) * iterations}, {iterations / taken:.3f}, {iterations * each / taken:.3f}")
    total = sum(seconds)
    tell(
        f"\nTook {total / 60:.2f} minutes, i.e. {result.samples_per_second:.2f} samples per second for batch-size "
        f"{config.device.batch} and no. IPUs = {processes.replicas * config.device.ipus}"
    )
    tell(f"All of this was measured on this host ({_host()}), which stands in for the IPUs.")
    tell(_modelled(model.model))
    return result


def _modelled(model: Any) -> str:
    try:
        found = estimate_of(model)
    except Error as problem:
        return f"No modelled figure for an IPU: {problem}"
    low, high = found.time_band.around(found.throughput)
    fits = (
        ""
        if found.memory.fits
        else "; it does not fit the memory of a tile, so this is what it would do if it did"
    )
    return (
        f"Modelled, not measured, for {found.chip.title}: {found.throughput:,.0f} samples/s "
        f"(between {low:,.0f} and {high:,.0f}){fits}."
    )


def data_benchmark(config: Config, processes: Processes, tell: Callable[[str], None] = print) -> list[float]:
    """Read epochs of samples through the loader that training uses; samples per second of each epoch.

    Args:
        config: the settings.
        processes: the processes of the run.
        tell: what to do with a line.
    """
    tell = tell if processes.first else lambda line: None
    source = needed(config, "train", processes)
    options = processes.options(config, training=True, iterations=config.device.iterations)
    loader = sample_loader(
        source,
        options,
        config.device.batch,
        workers=config.data.workers,
        ahead=config.data.ahead,
        seed=config.seed,
        augment=config.data.augment,
        rank=processes.index,
        ranks=processes.count,
    )
    rates = []
    tell("Epoch, Bandwidth(GB/s), Samples/Second")
    batches = _endless(loader)
    try:
        first = len(next(batches)[1])  # opening files and starting processes is not counted
        for epoch in range(config.throughput.loops):
            begin, read = time.perf_counter(), 0
            while read < config.throughput.samples:
                read += len(next(batches)[1])
            rate = read / (time.perf_counter() - begin)
            rates.append(rate)
            tell(f"{epoch}, {rate * source.bytes_of_sample / 1e9:.4f}, {rate:.2f}")
    finally:
        if config.data.ahead:
            loader.terminate()
    tell(
        f"Measured on this host ({_host()}) in one process of {processes.count}: {config.data.source}, "
        f"{source.bytes_of_sample / 1e6:.2f} MB per sample, {config.data.workers} workers, batches of {first}. "
        "A part that the operating system has in memory comes faster than from disk."
    )
    return rates


def _enough(config: Config, processes: Processes, source: Source) -> Source:
    """A source that fills at least one call: its samples again and again, if there are few."""
    call = (
        config.throughput.iterations * config.device.batch * config.device.accumulation * processes.replicas
    )
    return source if len(source) >= call else _Repeated(source, call)


class _Repeated:
    """A source whose samples come round again."""

    def __init__(self, source: Source, count: int) -> None:
        self._source, self._count = source, count
        self.size, self.parameters, self.bytes_of_sample = (
            source.size,
            source.parameters,
            source.bytes_of_sample,
        )

    def __len__(self) -> int:
        return self._count

    def read(self, sample: int) -> Any:
        return self._source.read(sample % len(self._source))


def _endless(loader: Any) -> Iterator[Any]:
    if not len(loader):
        raise ConfigError(
            "There are too few samples for one batch: make device.batch or device.iterations smaller."
        )
    while True:
        yield from loader


def _host() -> str:
    return f"{os.cpu_count()} logical cores, {platform.machine()}"
