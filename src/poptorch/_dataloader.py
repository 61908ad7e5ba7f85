"""`DataLoader` and `AsynchronousDataAccessor` return combined batches, the input of one call of a model. Processes and
memory of the asynchronous modes are in `tremula.frontends.torch.data`.
"""

from __future__ import annotations

import functools
import logging
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch.utils.data

from tremula.errors import Error
from tremula.frontends.torch.data import current_loader
from tremula.frontends.torch.data.collate import BatchCollate
from tremula.frontends.torch.data.iteration import iterate
from tremula.frontends.torch.data.partition import PartitionedDataset, block_of
from tremula.frontends.torch.data.prefetch import PrefetchWorker, Sharing
from tremula.frontends.torch.data.protocol import WorkerSettings
from tremula.frontends.torch.data.rebatch import combine_batches
from tremula.frontends.torch.data.wait_time import DataWait
from tremula.frontends.torch.structure import flattenTensorStructure, reconstructTensorStructure

from . import profiling
from ._logging import logger
from .enums import DataLoaderMode, SharingStrategy
from .options import Options

_SHARING = {
    SharingStrategy.SharedMemory: Sharing.SHARED_MEMORY,
    SharingStrategy.FileSystem: Sharing.FILE_SYSTEM,
    SharingStrategy.Fork: Sharing.FORK,
    SharingStrategy.ForkServer: Sharing.FORK_SERVER,
}


class DataLoader(torch.utils.data.DataLoader[Any]):
    """A `torch.utils.data.DataLoader` whose batches have the size that one call of a model takes.

    In a distributed run (`options.Distributed`) each process gets its own part of a data set with
    indices; for shuffled data all processes must set the same `options.randomSeed`.

    Args:
        options: the options of the model; they can no longer be changed afterwards.
        dataset: the data set.
        batch_size: micro-batch size: samples that the model sees at once. None hands out the elements of
            the data set as they are.
        shuffle: draw a new order for each epoch.
        num_workers: number of processes that read elements.
        drop_last: drop what is left at the end and does not fill a combined batch.
        persistent_workers: keep the worker processes from epoch to epoch; the default is True if there are any.
        auto_distributed_partitioning: give each process of a distributed run its part; False if the data
            set already is the part of this process.
        mode: Sync loads in this process; Async loads ahead, in another one; AsyncRebatched moreover
            makes the batches there, so that fewer elements are dropped when several workers read.
        async_options: arguments of `AsynchronousDataAccessor` (asynchronous modes).
        rebatched_worker_size: with AsyncRebatched, the size of the batches that workers read; the
            combined batch size unless given.
        batch_sampler: yields lists of indices, one per micro-batch; in place of batch_size and shuffle.
        kwargs: further arguments of `torch.utils.data.DataLoader`.

    Note:
        In the asynchronous modes a batch is a view of shared memory: it is valid until the next one is
        asked for. Clone what you keep.
    """

    def __init__(
        self,
        options: Options,
        dataset: torch.utils.data.Dataset[Any],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        num_workers: int = 0,
        drop_last: bool = True,
        persistent_workers: bool | None = None,
        auto_distributed_partitioning: bool = True,
        mode: DataLoaderMode = DataLoaderMode.Sync,
        async_options: dict[str, Any] | None = None,
        rebatched_worker_size: int | None = None,
        batch_sampler: torch.utils.data.Sampler[Sequence[int]] | Iterable[Sequence[int]] | None = None,
        **kwargs: Any,
    ) -> None:
        self._accessor: AsynchronousDataAccessor | None = None
        self._owns_accessor = mode != DataLoaderMode.Sync
        self._wait = DataWait()
        self._batch_collate = BatchCollate()
        _require(
            isinstance(options, Options), f"options must be poptorch.Options, not {type(options).__name__}."
        )
        self._is_user_batch_sampler_set = batch_sampler is not None
        processes = options.Distributed.numProcesses
        if batch_sampler is not None:
            if batch_size != 1 or shuffle:
                raise Error("`batch_sampler` option is mutually exclusive with batch_size, shuffle.")
            if processes > 1 and auto_distributed_partitioning:
                raise Error(
                    "`batch_sampler` option is mutually exclusive with auto_distributed_partitioning=True: "
                    "make the sampler of each process return its own part, and pass False."
                )
            batch_size = getattr(batch_sampler, "batch_size", batch_size)
        options._freeze()
        self._options = options
        self._drop_incomplete = bool(drop_last)
        self._is_iterable = isinstance(dataset, torch.utils.data.IterableDataset)
        self._num_batches_to_combine: int | None = None
        self._combined_batch_size: int | None = None
        if batch_size is not None:
            self._num_batches_to_combine = (
                options.device_iterations
                * (options.replication_factor // options.input_group_size)
                * options.Training.gradient_accumulation
            )
            self._combined_batch_size = batch_size * self._num_batches_to_combine

        partitioned = processes > 1 and auto_distributed_partitioning
        self._partition: PartitionedDataset | None = None
        if self._is_iterable:
            _require(
                not partitioned,
                "auto_distributed_partitioning not supported for IterableDataset: make each process iterate "
                "over its own part, and pass False.",
            )
            if num_workers > 1 and "worker_init_fn" not in kwargs:
                logger.warning(
                    "An IterableDataset is read by num_workers=%d processes without a worker_init_fn: every "
                    "element will be returned %d times. Give a worker_init_fn that lets each worker read "
                    "its own part.",
                    num_workers,
                    num_workers,
                )
        elif partitioned:
            self._partition = self._make_partition(dataset, bool(shuffle), self._drop_incomplete)
            dataset = self._partition
            shuffle = False  # done by the partition, over all processes
        if not self._is_iterable and not self._drop_incomplete:
            self._warn_about_remainder(_elements(dataset), batch_size, batch_sampler)
        if not self._is_iterable and self._drop_incomplete:
            self._check_there_is_a_batch(_elements(dataset), batch_size, batch_sampler, mode)
        if not self._is_iterable and num_workers == 0 and mode == DataLoaderMode.Sync:
            # not in worker processes, which would each write a trace
            methods = [name for name in ("__getitem__", "__getitems__") if hasattr(dataset, name)]
            dataset = profiling.Channel("dataset").instrument(dataset, *methods)

        rebatched_size = self._rebatched_size(mode, rebatched_worker_size, async_options)
        #: read by the accessor: whether what is left of an epoch is dropped there
        self.rebatched_drop_last = self._drop_incomplete
        torch_arguments = dict(kwargs, num_workers=num_workers)
        torch_arguments["persistent_workers"] = (
            num_workers > 0 if persistent_workers is None else persistent_workers
        )
        if batch_sampler is not None:
            torch_arguments.update(batch_sampler=batch_sampler)
            if rebatched_worker_size is not None:
                logger.warning(
                    "rebatched_worker_size=%d has no effect: the batch_sampler decides what workers read.",
                    rebatched_worker_size,
                )
        else:
            torch_arguments.update(
                batch_size=self._combined_batch_size,
                shuffle=bool(shuffle),
                # When rebatching, the accessor sees to what is left: the loader must not drop any.
                drop_last=drop_last and rebatched_size is None,
            )
            if rebatched_size is not None and rebatched_worker_size is not None:
                torch_arguments["batch_size"] = rebatched_worker_size
        super().__init__(dataset, **torch_arguments)

        if self._owns_accessor:
            arguments = dict(async_options or {})
            _require(
                "rebatched_size" not in arguments,
                "rebatched_size cannot be set in async_options: it is derived from the combined batch size. "
                "Use DataLoaderMode.AsyncRebatched.",
            )
            self._accessor = AsynchronousDataAccessor(self, **arguments, rebatched_size=rebatched_size)

    def __len__(self) -> int:
        """Number of combined batches per epoch."""
        if self._is_user_batch_sampler_set:
            return self._rounded(super().__len__(), self._num_batches_to_combine)
        if self._accessor is not None and self._accessor.rebatched_size:
            return self._rounded(_elements(self.dataset), self._accessor.rebatched_size)
        return super().__len__()

    @property
    def combinedBatchSize(self) -> int | None:
        """Number of elements that one call of the model takes; None with batch_size=None."""
        return self._combined_batch_size

    @property
    def options(self) -> Options:
        """The options of the loader."""
        return self._options

    @property
    def _slot_collate(self) -> BatchCollate | None:
        """What makes the batches in the loading process, if they may be made where the consumer will see them."""
        own = (
            type(self).__iter__ is DataLoader.__iter__
            and type(self)._get_iterator is DataLoader._get_iterator
        )
        one_each = not self._is_user_batch_sampler_set or self._num_batches_to_combine == 1
        return self._batch_collate if own and one_each and self.num_workers == 0 else None

    def terminate(self) -> None:
        """End the process of an asynchronous loader. It has no effect on a synchronous one."""
        accessor = getattr(self, "_accessor", None)
        if accessor is not None:
            accessor.terminate()

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        current_loader.set_current(self)
        if self._accessor is not None:
            return _AsyncIterator(self, iter(self._accessor))
        if self._partition is not None:
            self._partition.begin_epoch()
        batches = super().__iter__()
        if self._is_user_batch_sampler_set and self._num_batches_to_combine != 1:
            return combine_batches(
                batches,
                self._num_batches_to_combine or 1,
                drop_last=self._drop_incomplete,
                flatten=flattenTensorStructure,
                rebuild=reconstructTensorStructure,
            )
        return batches

    def _get_iterator(self) -> Any:
        return iterate(self, self._batch_collate, self._wait, whole_batches=not profiling.enabled())

    def _rounded(self, elements: int, per_batch: int | None) -> int:
        whole, rest = divmod(elements, per_batch or 1)
        return whole + bool(rest and not self._drop_incomplete)

    def _make_partition(self, dataset: Any, shuffle: bool, drop_last: bool) -> PartitionedDataset:
        options = self._options
        _require(
            not shuffle or options.exists("random_seed"),
            "auto_distributed_partitioning of shuffled data needs poptorch.Options.randomSeed() with the same "
            "seed in all processes, so that all of them use the same order.",
        )
        _require(
            self._combined_batch_size is not None,
            "batch_size=None not allowed when using auto_distributed_partitioning.",
        )
        block = block_of(
            options.Distributed.processId,
            options.Distributed.numProcesses,
            len(dataset),
            self._combined_batch_size or 1,
            drop_last,
        )
        return PartitionedDataset(dataset, block, options.random_seed if shuffle else None)

    def _warn_about_remainder(self, elements: int, batch_size: int | None, batch_sampler: Any) -> None:
        combined = self._combined_batch_size
        if combined is None:
            return
        advice = (
            "The last batch will be smaller than the batch that the model was compiled for. Use drop_last=True, "
            "use a multiple of the combined batch size, or pad the last batch."
        )
        per_call, count = self._num_batches_to_combine or 1, _length_or_none(batch_sampler)
        if batch_sampler is None:
            left = elements % combined
            found = (
                f"the number of samples ({elements}) is not divisible by the combined batch size ({combined}): "
                f"samples left over: {left}."
            )
        elif count is None:
            left = per_call
            found = (
                "the batch_sampler has no length: there may be batches left over at the end that do not fill a "
                f"combined batch of {per_call} micro-batches."
            )
        else:
            left = count % per_call
            found = (
                f"the number of batches of the batch_sampler ({count}) is not divisible by the number that a call "
                f"takes ({per_call}): left over: {left} batches of up to {batch_size} samples. The combined batch "
                f"size is {combined}."
            )
        if left:
            logger.warning("drop_last=False and %s %s", found, advice)

    def _check_there_is_a_batch(
        self, elements: int, batch_size: int | None, batch_sampler: Any, mode: DataLoaderMode
    ) -> None:
        """Fewer samples than one call takes: nothing would be loaded, and a training loop do nothing."""
        combined, options = self._combined_batch_size, self._options
        if combined is None:
            return
        there: int | None = elements
        needed, unit = combined, "samples"
        if batch_sampler is not None:
            there, needed, unit = (
                _length_or_none(batch_sampler),
                self._num_batches_to_combine or 1,
                "micro-batches",
            )
        if there is None or there >= needed:
            return
        factors = {
            "batch_size": batch_size,
            "Options.deviceIterations": options.device_iterations,
            "Options.replicationFactor": options.replication_factor // options.input_group_size,
            "Options.Training.gradientAccumulation": options.Training.gradient_accumulation,
        }
        product = " * ".join(f"{name}({value})" for name, value in factors.items())
        message = (
            f"The data set is smaller than a combined batch: it has {elements} samples"
            f"{'' if batch_sampler is None else f' in {there} micro-batches'}, but one call of the model takes "
            f"{needed} {unit}; {product} = {combined} samples. Use more samples, or reduce one of these numbers."
        )
        # the process of an asynchronous loader needs the shapes of a first batch
        if mode == DataLoaderMode.Async:
            raise Error(message)
        logger.warning("%s Every epoch of this loader is empty.", message)

    def _rebatched_size(
        self, mode: DataLoaderMode, worker_size: int | None, async_options: dict[str, Any] | None
    ) -> int | None:
        """The batch size that the accessor has to make, or None if it is to pass batches on."""
        combined = self._combined_batch_size
        # A smaller last batch is something only rebatching can hand out through slots of one size.
        remainder = mode == DataLoaderMode.Async and not self._drop_incomplete and combined not in (None, 1)
        if mode == DataLoaderMode.AsyncRebatched or remainder:
            _require(
                worker_size is None or (combined is not None and worker_size <= combined),
                f"The rebatched_worker_size ({worker_size}) must be <= the combined batch size ({combined}).",
            )
            return combined
        if worker_size is not None:
            logger.warning("rebatched_worker_size has no effect: it needs DataLoaderMode.AsyncRebatched.")
        if mode == DataLoaderMode.Sync and async_options:
            logger.warning("async_options have no effect: the mode is DataLoaderMode.Sync.")
        return None


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
        if isinstance(dataset, DataLoader):
            if dataset._accessor is not None:
                raise Error(
                    "The DataLoader already uses an AsynchronousDataAccessor: iterate over it directly, or "
                    "create it with mode=poptorch.DataLoaderMode.Sync."
                )
            _require(
                dataset._is_user_batch_sampler_set
                or dataset.drop_last
                or rebatched_size is not None
                or dataset.combinedBatchSize in (None, 1),
                "A DataLoader with 'drop_last=False' only works if 'rebatched_size' is specified too.",
            )
        _require(
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
            wait=dataset._wait if isinstance(dataset, DataLoader) else None,
        )
        # The loader that this accessor serves owns it: a strong reference back would keep both, and the
        # worker process with them, until the garbage collector finds the circle.
        owned = isinstance(dataset, DataLoader) and dataset._owns_accessor
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


class _AsyncIterator:
    """Iterates over an accessor, and keeps the loader that owns it alive meanwhile."""

    def __init__(self, loader: DataLoader, accessor: AsynchronousDataAccessor) -> None:
        self._loader = loader
        self._accessor = accessor

    def __iter__(self) -> _AsyncIterator:
        return self

    def __next__(self) -> Any:
        return next(self._accessor)

    def __len__(self) -> int:
        return len(self._loader)


def _logger_at(level: int) -> logging.Logger:
    """The logger for a worker process, as loud as in the process that started it."""
    logger.setLevel(level)
    return logger


def _length_or_none(batch_sampler: Any) -> int | None:
    try:
        return len(batch_sampler)
    except (TypeError, NotImplementedError):
        return None


def _elements(dataset: Any) -> int:
    return len(dataset)


def _require(condition: bool, message: str) -> None:
    # The class is what programs know; unlike the statement it also works under `python -O`.
    if not condition:
        raise AssertionError(message)
