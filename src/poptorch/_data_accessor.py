"""`AsynchronousDataAccessor` loads the elements of a data set, or the batches of a `DataLoader`, in another process.
Processes and memory are in `tremula.frontends.torch.data`.
"""

from __future__ import annotations

import functools
import logging
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch.utils.data

from tremula.errors import Error
from tremula.frontends.torch.data.prefetch import PrefetchWorker, Sharing
from tremula.frontends.torch.data.protocol import WorkerSettings
from tremula.frontends.torch.data.wait_time import DataWait

from ._logging import logger
from .enums import SharingStrategy

if TYPE_CHECKING:
    from ._dataloader import DataLoader

_SHARING = {
    SharingStrategy.SharedMemory: Sharing.SHARED_MEMORY,
    SharingStrategy.FileSystem: Sharing.FILE_SYSTEM,
    SharingStrategy.Fork: Sharing.FORK,
    SharingStrategy.ForkServer: Sharing.FORK_SERVER,
}


class AccessedLoader(torch.utils.data.DataLoader[Any]):
    """What an accessor knows of a `DataLoader`."""

    #: loads ahead for this loader; None in mode Sync
    _accessor: AsynchronousDataAccessor | None
    _owns_accessor: bool
    _is_user_batch_sampler_set: bool
    _wait: DataWait

    @property
    def combinedBatchSize(self) -> int | None:
        """Number of elements that one call of the model takes; None with batch_size=None."""
        raise NotImplementedError


class AsynchronousDataAccessor:
    """Loads the elements of a data set in advance, in another process.

    That process fills a ring of buffers in shared memory. Elements must be tensors, flat lists, tuples
    or dictionaries of tensors, or objects with a parser (`registerCustomArgParser`); tuples come back as
    lists. All elements must have the shapes of the first one.

    Args:
        dataset: any iterable, in particular a `DataLoader` in mode Sync.
        buffer_size: number of buffers, that is how far to load ahead.
        miss_sleep_time_in_ms: when all buffers are full, how long the loading process sleeps before it
            looks again; it sleeps longer (up to 2 ms, unless more is given) while they stay full.
        load_indefinitely: go on with the next epoch at once at the end of one.
        early_preload: fill the buffers at once, not from the first iteration on.
        sharing_strategy: how the data set gets to the process: through shared memory, through files (for
            data sets too large for that), by forking (nothing is copied, but threads may make trouble) or
            by a fork server (default).
        rebatched_size: make batches of this many rows from those of the data set.

    Note:
        What is returned is a view of shared memory: it is valid until the next element is asked for. The
        last element of an epoch stays valid until the next epoch begins (given two or more buffers).
        Clone what you keep.
    """

    def __init__(
        self,
        dataset: torch.utils.data.Dataset[Any] | DataLoader | Iterable[Any],
        buffer_size: int = 3,
        miss_sleep_time_in_ms: float = 0.1,
        load_indefinitely: bool = True,
        early_preload: bool = False,
        sharing_strategy: SharingStrategy = SharingStrategy.ForkServer,
        rebatched_size: int | None = None,
    ) -> None:
        self._worker: PrefetchWorker | None = None
        self.rebatched_size = rebatched_size
        if isinstance(dataset, AccessedLoader):
            if dataset._accessor is not None:
                raise Error(
                    "The DataLoader already uses an AsynchronousDataAccessor: iterate over it directly, or "
                    "create it with mode=poptorch.DataLoaderMode.Sync."
                )
            require(
                dataset._is_user_batch_sampler_set
                or dataset.drop_last
                or rebatched_size is not None
                or dataset.combinedBatchSize in (None, 1),
                "A DataLoader with 'drop_last=False' only works if 'rebatched_size' is specified too.",
            )
        require(
            rebatched_size is None or rebatched_size > 1,
            f"rebatched_size must be None or greater than 1, not {rebatched_size}. For a combined batch "
            "size of 1, use DataLoaderMode.Async.",
        )
        settings = WorkerSettings(
            slots=buffer_size,
            miss_sleep_seconds=miss_sleep_time_in_ms / 1000,
            load_indefinitely=load_indefinitely,
            early_preload=early_preload,
            rebatched_size=rebatched_size,
            keep_remainder=not getattr(dataset, "rebatched_drop_last", True),
            make_logger=functools.partial(_logger_at, logger.level),
        )
        strategy = SharingStrategy(sharing_strategy)
        self._worker = PrefetchWorker(
            dataset,
            settings,
            _SHARING[strategy],
            preload=("torch", "poptorch"),
            wait=dataset._wait if isinstance(dataset, AccessedLoader) else None,
        )
        # The loader that this accessor serves owns it: a strong reference back would keep both, and the
        # worker process with them, until the garbage collector finds the circle.
        owned = isinstance(dataset, AccessedLoader) and dataset._owns_accessor
        self._dataset_ref = weakref.ref(dataset) if owned else (lambda: dataset)
        weakref.finalize(self, self._worker.terminate).atexit = False

    @property
    def _dataset(self) -> Any:
        return self._dataset_ref()

    def terminate(self) -> None:
        """End the loading process. The accessor cannot be used afterwards."""
        if self._worker is not None:
            self._worker.terminate()
            self._worker = None

    def __len__(self) -> int:
        length = len(self._dataset)
        if self.rebatched_size and getattr(self._dataset, "_accessor", None) is not self:
            length = length * self._dataset.batch_size // self.rebatched_size
        return length

    def __iter__(self) -> AsynchronousDataAccessor:
        self._running().begin_epoch()
        return self

    def __next__(self) -> Any:
        return self._running().next_item()

    def _running(self) -> PrefetchWorker:
        if self._worker is None:
            raise AssertionError("The data accessor was terminated: create a new one.")
        return self._worker


def _logger_at(level: int) -> logging.Logger:
    """The logger for a worker process, as loud as in the process that started it."""
    logger.setLevel(level)
    return logger


def require(condition: bool, message: str) -> None:
    """Raise an `AssertionError` unless `condition` holds."""
    # The class is what programs know; unlike the statement it also works under `python -O`.
    if not condition:
        raise AssertionError(message)
