"""The worker process of an asynchronous loader: it walks over the data set and fills the ring.

It ends when told to, when its consumer is gone (the command pipe or the parent's sentinel says so), or with
an exception of the data set, which it reports. It leads a process group of its own and ignores SIGINT: an
interrupt from the keyboard is for the consumer, which decides whether loading ends, and whoever outlives
the other can end all that the data set may have started (loaders start processes of their own).
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.utils.data

from tremula.data.file_transfer import FiledDataset
from tremula.data.layout import ItemLayout
from tremula.data.protocol import (
    Attached,
    EpochEnded,
    Failed,
    Shutdown,
    SlotReady,
    Started,
    StartEpoch,
    WorkerSettings,
)
from tremula.data.rebatch import Rebatcher
from tremula.data.ring import SlotRing
from tremula.errors import Error
from tremula.program.structure import register_parser

#: How long a worker whose consumer died may go on with the item that it is loading.
_ORPHAN_GRACE_SECONDS = 5.0


class _StopLoading(Exception):
    """The consumer wants no more data, or is gone."""


class Producer:
    """Loads epochs into the ring, as far as the consumer's commands and the free slots allow."""

    def __init__(
        self,
        dataset: Iterable[Any],
        settings: WorkerSettings,
        commands: Connection[Any, Any],
        events: Connection[Any, Any],
    ) -> None:
        self._dataset = dataset
        self._settings = settings
        self._commands = commands
        self._events = events
        self._log = settings.make_logger()
        self._rebatcher = Rebatcher(settings.rebatched_size) if settings.rebatched_size else None
        self._wanted_epoch = -1
        self._slot = 0
        self._ring: SlotRing
        self._layout: ItemLayout

    def run(self) -> None:
        """Produce until told to stop."""
        try:
            self._run()
        except (_StopLoading, EOFError, BrokenPipeError, ConnectionResetError):
            self._log.debug("AsynchronousDataAccessor worker: leaving")
        finally:
            # A loader keeps its processes until it is collected. The end of this process would not wait for
            # that, but kill them, perhaps in the moment in which they hand over a piece of shared memory.
            if isinstance(self._dataset, torch.utils.data.DataLoader):
                self._dataset._iterator = None

    def _run(self) -> None:
        items: Iterator[Any] | None = iter(self._dataset)
        assert items is not None
        try:
            first = next(items)
        except StopIteration:
            raise Error("The Dataset is empty: there is no first item to load.") from None
        self._set_up(first)
        # The first item is loaded in any case, as its shapes are needed.
        self._store(first, epoch=0)
        epoch = 0
        while True:
            self._await_permission(epoch)
            if items is None:
                self._log.debug("AsynchronousDataAccessor worker: new iterator for epoch %d", epoch)
                items = iter(self._dataset)
            self._load(items, epoch)
            # The old iterator must be gone before the next is made: it may own loader processes.
            items = None
            epoch += 1

    def _set_up(self, first: object) -> None:
        self._layout = ItemLayout.of(first)
        specs = list(self._layout.specs)
        if self._rebatcher is not None:
            for index, spec in enumerate(specs):
                if not spec.shape:
                    raise Error(
                        f"Tensor {index} of the item has no dimensions: "
                        "rebatched_size needs a batch dimension to cut along."
                    )
                specs[index] = type(spec)((self._rebatcher.size, *spec.shape[1:]), spec.dtype)
        self._ring = SlotRing.allocate(specs, self._settings.slots)
        self._events.send(Started(self._layout, self._ring.buffers, self._ring.indices_mem))
        while not isinstance(self._receive(), Attached):
            pass

    def _load(self, items: Iterator[Any], epoch: int) -> None:
        """Load an epoch to its end, or until the consumer has moved on."""
        for item in items:
            if not self._store(item, epoch):
                break
        else:
            rows = self._rebatcher.filled if self._rebatcher else 0
            if rows and self._settings.keep_remainder:
                self._announce(epoch, rows)
            self._log.debug("AsynchronousDataAccessor worker: end of dataset reached in epoch %d", epoch)
            self._events.send(EpochEnded(epoch))
        if self._rebatcher is not None:
            self._rebatcher.reset()

    def _store(self, item: object, epoch: int) -> bool:
        """Put an item into the ring; False if the epoch was abandoned meanwhile."""
        tensors = self._layout.flatten(item)
        if self._rebatcher is None:
            if not self._await_slot(epoch):
                return False
            self._ring.write(self._slot, tensors)
            self._announce(epoch, None)
            return True
        sizes = {len(tensor) if tensor.dim() else 0 for tensor in tensors}
        if len(sizes) != 1:
            raise Error(
                f"The tensors of one item have different batch sizes {sorted(sizes)}: cannot rebatch them."
            )
        for span in self._rebatcher.spans(sizes.pop()):
            if not self._await_slot(epoch):
                return False
            self._ring.write(self._slot, [tensor[span.start : span.stop] for tensor in tensors], at=span.at)
            if span.completes:
                self._announce(epoch, None)
        return True

    def _announce(self, epoch: int, rows: int | None) -> None:
        self._ring.mark_ready(self._slot)
        self._events.send(SlotReady(epoch, self._slot, rows))
        self._slot = (self._slot + 1) % len(self._ring)

    def _await_permission(self, epoch: int) -> None:
        """Block until the epoch may be loaded."""
        ahead = self._settings.load_indefinitely if epoch else self._settings.early_preload
        # Never more than one epoch ahead: a data set may change between epochs.
        while epoch > self._wanted_epoch + ahead:
            self._receive()

    def _await_slot(self, epoch: int) -> bool:
        """Block until the current slot may be written; False if the epoch was abandoned meanwhile."""
        while self._commands.poll():
            self._receive()
        while epoch >= self._wanted_epoch and not self._ring.is_free(self._slot):
            # poll() is the sleep: a command ends it early.
            if self._commands.poll(self._settings.miss_sleep_seconds):
                self._receive()
        return epoch >= self._wanted_epoch

    def _receive(self) -> object:
        command = self._commands.recv()
        self._log.debug("AsynchronousDataAccessor worker: %s", command)
        if isinstance(command, Shutdown):
            raise _StopLoading
        if isinstance(command, StartEpoch):
            self._wanted_epoch = command.epoch
        return command


def main(
    dataset: Any,
    settings: WorkerSettings,
    commands: Connection[Any, Any],
    events: Connection[Any, Any],
    inherited: tuple[Connection[Any, Any], ...] = (),
) -> None:
    """Entry point of the process.

    Args:
        dataset: what to iterate over, or a `FiledDataset` with it.
        settings: how to load.
        commands: end of the command pipe to read.
        events: end of the event pipe to write.
        inherited: the consumer's ends of the pipes, which a forked process has too and must close.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setpgrp()
    for connection in inherited:
        connection.close()
    threading.Thread(target=_leave_with_consumer, name="tremula-orphan-watch", daemon=True).start()
    if settings.single_thread:
        torch.set_num_threads(1)
    if settings.start_method is not None:
        multiprocessing.set_start_method(settings.start_method, force=True)
    if settings.seed is not None:
        torch.manual_seed(settings.seed)
    try:
        log = settings.make_logger()
        log.debug("AsynchronousDataAccessor worker process: %d", os.getpid())
        for kind, parser in settings.parsers:
            register_parser(kind, parser)
        if isinstance(dataset, FiledDataset):
            dataset = dataset.load()
        Producer(dataset, settings, commands, events).run()
    except Exception:
        # Printed too: the consumer may never look, and a start-up error is best seen where it happened.
        traceback.print_exc()
        sys.stderr.flush()
        with contextlib.suppress(OSError):  # the consumer is gone
            events.send(Failed(traceback.format_exc()))
        sys.exit(1)


def _leave_with_consumer() -> None:
    """End this process group some time after its consumer, even if the data set never returns."""
    consumer = multiprocessing.parent_process()
    if consumer is not None:
        consumer.join()
        time.sleep(_ORPHAN_GRACE_SECONDS)
        os.killpg(os.getpgrp(), signal.SIGKILL)
