"""The worker process of an asynchronous loader: it walks over the data set and fills the ring.

It ends on request, when its consumer is gone (the command pipe or the parent's sentinel says so), or with
an exception of the data set, which it reports. It leads a process group of its own and ignores SIGINT: an
interrupt from the keyboard is for the consumer, which decides whether loading ends, and whoever outlives
the other can end all that the data set may have started (loaders start processes of their own).
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Hashable, Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.utils.data

from tremula.errors import Error
from tremula.frontends.torch.data.backoff import Backoff
from tremula.frontends.torch.data.file_transfer import FiledDataset
from tremula.frontends.torch.data.item_structure import ItemKind, ItemLayout
from tremula.frontends.torch.data.protocol import (
    Attached,
    Failed,
    Shutdown,
    Started,
    StartEpoch,
    WorkerSettings,
)
from tremula.frontends.torch.data.rebatch import Rebatcher
from tremula.frontends.torch.data.ring import SlotRing
from tremula.frontends.torch.structure import register_parser

#: How long a worker whose consumer died may go on with the item that it is loading.
_ORPHAN_GRACE_SECONDS = 5.0
#: How late a worker may notice that a slot was given back, unless the user set a longer time.
_LONGEST_PAUSE_SECONDS = 2e-3


class _StopLoading(Exception):
    """The consumer needs no more data, or is gone."""


class _Abandoned(Exception):
    """The consumer has moved on to another epoch."""


class Producer:
    """Loads epochs into the ring, as far as the consumer's commands and the free slots allow.

    A data set with an attribute `_slot_collate` (a `BatchCollate`, or None) lets its batches be made in the slot:
    each item must be one result of that function, and no other may be made before the item is taken.
    """

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
        self._arrivals = select.poll()
        self._arrivals.register(commands, select.POLLIN)
        # A consumer that lets us wait for long is busy computing, and better left alone.
        self._backoff = Backoff(settings.miss_sleep_seconds, _LONGEST_PAUSE_SECONDS, growth=1 / 4)
        self._wanted_epoch = -1
        self._epoch = 0
        self._slot = 0
        self._made: dict[int, torch.Tensor] = {}  # places in the slot that the data set was given to fill
        self._may_write = False  # what is known about the slot
        self._ring: SlotRing
        self._layout: ItemLayout

    def run(self) -> None:
        """Produce until asked to stop."""
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
        items: Iterator[Any] = iter(self._dataset)
        try:
            first = next(items)
        except StopIteration:
            raise Error("The Dataset is empty: there is no first item to load.") from None
        self._set_up(first)
        # The first item is loaded in any case, as its shapes are needed.
        self._store(first)
        first = None
        collate = getattr(self._dataset, "_slot_collate", None)
        if collate is not None:
            collate.allocate = self._allocate
        self._await_permission()
        while True:
            self._load(items)
            # The old iterator must be gone before the next is made: it may own loader processes.
            del items
            self._epoch += 1
            self._await_permission()
            self._log.debug("AsynchronousDataAccessor worker: new iterator for epoch %d", self._epoch)
            items = iter(self._dataset)

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
        self._events.send(Started(self._layout, self._ring.parts))
        while not isinstance(self._receive(), Attached):
            pass

    def _load(self, items: Iterator[Any]) -> None:
        """Load an epoch to its end, or until the consumer has moved on."""
        try:
            for item in items:
                self._store(item)
            rows = self._rebatcher.filled if self._rebatcher else 0
            if rows and self._settings.keep_remainder:
                self._announce(rows)
            self._log.debug(
                "AsynchronousDataAccessor worker: end of dataset reached in epoch %d", self._epoch
            )
            self._ring.mark_ended(self._epoch)
        except _Abandoned:
            pass
        if self._rebatcher is not None:
            self._rebatcher.reset()

    def _allocate(self, key: Hashable, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
        """Where the next item is to be made: the memory of the slot that it will be in."""
        layout = self._layout
        if layout.kind is ItemKind.MAPPING:
            position = layout.keys.index(key) if key in layout.keys else None
        else:
            position = key if isinstance(key, int) else None
        if position is None:
            return None
        self._await_slot()
        at = None if self._rebatcher is None else self._rebatcher.filled
        target = self._ring.place(self._slot, position, shape, dtype, at)
        if target is not None:
            self._made[position] = target
        return target

    def _was_made_in_slot(self, item: object, made: dict[int, torch.Tensor]) -> bool:
        """Whether the item is, exactly, what the data set was given to fill."""
        if len(made) != len(self._layout.specs):
            return False
        if type(item) is list:
            return len(item) == len(made) and all(item[position] is made[position] for position in made)
        if type(item) is dict:
            keys = self._layout.keys
            return len(item) == len(keys) and all(
                item.get(keys[position]) is made[position] for position in made
            )
        return item is made[0]

    def _store(self, item: object) -> None:
        """Put an item into the ring."""
        made, self._made = self._made, {}
        if made and self._was_made_in_slot(item, made):
            # It fitted, so when rebatching its rows are one span.
            if self._rebatcher is None or all(span.completes for span in self._rebatcher.spans(len(made[0]))):
                self._announce(None)
            return
        tensors = self._layout.flatten(item)
        if self._rebatcher is None:
            self._await_slot()
            self._ring.write(self._slot, tensors)
            self._announce(None)
            return
        sizes = {len(tensor) if tensor.dim() else 0 for tensor in tensors}
        if len(sizes) != 1:
            raise Error(
                f"The tensors of one item have different batch sizes {sorted(sizes)}: cannot rebatch them."
            )
        for span in self._rebatcher.spans(sizes.pop()):
            self._await_slot()
            self._ring.write(self._slot, [tensor[span.start : span.stop] for tensor in tensors], at=span.at)
            if span.completes:
                self._announce(None)

    def _announce(self, rows: int | None) -> None:
        self._ring.mark_ready(self._slot, self._epoch, rows)
        self._slot = (self._slot + 1) % len(self._ring)
        self._may_write = False

    def _await_permission(self) -> None:
        """Block until the epoch may be loaded."""
        ahead = self._settings.load_indefinitely if self._epoch else self._settings.early_preload
        # Never more than one epoch ahead: a data set may change between epochs.
        while self._epoch > self._wanted_epoch + ahead:
            self._receive()

    def _await_slot(self) -> None:
        """Block until the current slot may be written.

        Raises _Abandoned if the consumer needs no more of the epoch.
        """
        while not self._may_write:
            while self._arrivals.poll(0):
                self._receive()
            if self._epoch < self._wanted_epoch:
                raise _Abandoned
            if self._ring.is_free(self._slot):
                self._backoff.end()
                self._may_write = True
            else:
                self._backoff.pause()

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
    """Entry point of the process; `inherited` are the consumer's ends of the pipes, which a forked process closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setpgrp()
    for connection in inherited:
        connection.close()
    threading.Thread(target=_leave_with_consumer, name="tremula-orphan-watch", daemon=True).start()
    # What was imported stays for good: looking through it again and again takes longer than loading.
    gc.freeze()
    # The cores are for the consumer's computation, and a forked process could not use OpenMP's threads anyway.
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
