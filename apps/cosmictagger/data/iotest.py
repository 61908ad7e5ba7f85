"""How fast events can be read, through the loader that training uses."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from tqdm import tqdm

from cosmictagger.data.dataset import event_loader


@dataclass(frozen=True)
class IoReport:
    """What an I/O test measured, by the clock of this machine.

    Attributes:
        batches: batches after the first.
        batch_size: events of a batch.
        events: events after the first batch.
        seconds: time for them.
        first_batch_seconds: from making the loader until the first batch came: opening files, starting processes.
        image_bytes: bytes of the tensors that arrived, per event.
        file_bytes: bytes on disk per event; None if the events were not read from files.
        workers: processes that read.
    """

    batches: int
    batch_size: int
    events: int
    seconds: float
    first_batch_seconds: float
    image_bytes: int
    file_bytes: float | None
    workers: int

    @property
    def events_per_second(self) -> float:
        """Events per second, without the first batch."""
        return self.events / self.seconds if self.seconds else math.nan

    @property
    def gigabytes_per_second(self) -> float:
        """10^9 bytes per second of tensors."""
        return self.events_per_second * self.image_bytes / 1e9

    @property
    def file_gigabytes_per_second(self) -> float | None:
        """10^9 bytes per second from files."""
        return None if self.file_bytes is None else self.events_per_second * self.file_bytes / 1e9

    def lines(self) -> list[str]:
        """The report as text; the lines that begin "Total" and "Average" are those that scripts look for."""
        files = ""
        if self.file_bytes is not None:
            files = f", {self.file_gigabytes_per_second:.4f} GB/s from files ({self.file_bytes / 1e6:.2f} MB per event)"
        return [
            f"Time to first batch: {self.first_batch_seconds:.3f}s (not counted below)",
            f"Total IO Time: {self.seconds:.2f}s",
            f"Total images read per batch: {self.batch_size}",
            f"Average Image IO Throughput: {self.events_per_second:.3f}",
            f"Measured with {self.workers} worker processes: {self.events} events in {self.batches} batches, "
            f"{self.gigabytes_per_second:.3f} GB/s of tensors ({self.image_bytes / 1e6:.2f} MB per event)"
            f"{files}",
        ]


def iotest(
    dataset: Any,
    batch_size: int = 2,
    *,
    batches: int | None = 50,
    seconds: float | None = None,
    workers: int = 0,
    progress: bool = True,
    tell: Callable[[str], None] | None = print,
    **loading: Any,
) -> IoReport:
    """Read batches and say how fast.

    Args:
        dataset: an `EventDataset` or `SparseEventDataset`.
        batch_size: micro-batch size.
        batches: stop after this many batches, not counting the first; None for no limit.
        seconds: stop after this time; None for no limit.
        workers: processes that read.
        progress: show a bar.
        tell: what to do with each line of the report; None keeps quiet.
        loading: further arguments of `event_loader`, such as options and mode.

    Raises:
        ValueError: there is no limit, or too few events for a batch.
    """
    if batches is None and seconds is None:
        raise ValueError("Give a number of batches or of seconds: without either the test would not end.")
    begin = time.perf_counter()
    loader = event_loader(dataset, batch_size, workers=workers, **loading)
    if not len(loader):
        raise ValueError(f"{len(dataset)} events are too few for a batch: use a smaller batch.")
    file_bytes = getattr(dataset.source, "bytes_on_disk", None)
    try:
        source = _endless(loader)
        rows = len(next(source)[-1])
        first = time.perf_counter() - begin
        read = done = 0
        begin = now = time.perf_counter()
        with tqdm(total=batches, desc="Reading", unit="batch", disable=not progress, file=sys.stderr) as bar:
            while (batches is None or done < batches) and (seconds is None or now - begin < seconds):
                read += len(next(source)[-1])
                done += 1
                bar.update()
                now = time.perf_counter()
    finally:
        terminate = getattr(loader, "terminate", None)
        if terminate is not None:
            terminate()
    report = IoReport(
        done,
        rows,
        read,
        now - begin,
        first,
        dataset.element_bytes,
        None if file_bytes is None else file_bytes / len(dataset.source),
        workers,
    )
    if tell is not None:
        for line in report.lines():
            tell(line)
    return report


def _endless(loader: torch.utils.data.DataLoader[Any]) -> Any:
    while True:
        yield from loader
