"""`DataLoader` returns combined batches, the input of one call of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch.utils.data

from tremula.errors import Error
from tremula.frontends.torch.data import current_loader
from tremula.frontends.torch.data.collate import BatchCollate
from tremula.frontends.torch.data.iteration import iterate
from tremula.frontends.torch.data.partition import PartitionedDataset, block_of
from tremula.frontends.torch.data.rebatch import combine_batches
from tremula.frontends.torch.data.wait_time import DataWait
from tremula.frontends.torch.structure import flattenTensorStructure, reconstructTensorStructure

from . import profiling
from ._combined_batch import CombinedBatch
from ._data_accessor import AccessedLoader, AsynchronousDataAccessor, require
from ._logging import logger
from .enums import DataLoaderMode
from .options import Options


class DataLoader(AccessedLoader):
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
        require(
            isinstance(options, Options), f"options must be poptorch.Options, not {type(options).__name__}."
        )
        self._is_user_batch_sampler_set = batch_sampler is not None
        partitioned = options.Distributed.numProcesses > 1 and auto_distributed_partitioning
        if batch_sampler is not None:
            _refuse_what_a_sampler_replaces(batch_size, shuffle, partitioned)
            batch_size = getattr(batch_sampler, "batch_size", batch_size)
        options._freeze()
        self._options = options
        self._drop_incomplete = bool(drop_last)
        self._is_iterable = isinstance(dataset, torch.utils.data.IterableDataset)
        self._combined = None if batch_size is None else CombinedBatch.of(batch_size, options)
        self._partition: PartitionedDataset | None = None
        if self._is_iterable:
            require(
                not partitioned,
                "auto_distributed_partitioning not supported for IterableDataset: make each process iterate "
                "over its own part, and pass False.",
            )
            if num_workers > 1 and "worker_init_fn" not in kwargs:
                _warn_about_repeated_elements(num_workers)
        elif partitioned:
            self._partition = self._make_partition(dataset, bool(shuffle), self._drop_incomplete)
            dataset = self._partition
            shuffle = False  # done by the partition, over all processes
        if not self._is_iterable:
            self._check_length(_elements(dataset), batch_sampler, mode)
            if num_workers == 0 and mode == DataLoaderMode.Sync:
                # not in worker processes, which would each write a trace
                methods = [name for name in ("__getitem__", "__getitems__") if hasattr(dataset, name)]
                dataset = profiling.Channel("dataset").instrument(dataset, *methods)

        rebatched_size = self._rebatched_size(mode, rebatched_worker_size, async_options)
        #: read by the accessor: whether what is left of an epoch is dropped there
        self.rebatched_drop_last = self._drop_incomplete
        workers_persist = num_workers > 0 if persistent_workers is None else persistent_workers
        torch_arguments = dict(kwargs, num_workers=num_workers, persistent_workers=workers_persist)
        if batch_sampler is not None:
            torch_arguments.update(batch_sampler=batch_sampler)
            if rebatched_worker_size is not None:
                logger.warning(
                    "rebatched_worker_size=%d has no effect: the batch_sampler decides what workers read.",
                    rebatched_worker_size,
                )
        else:
            torch_arguments.update(
                batch_size=self.combinedBatchSize,
                shuffle=bool(shuffle),
                # When rebatching, the accessor sees to what is left: the loader must not drop any.
                drop_last=drop_last and rebatched_size is None,
            )
            if rebatched_size is not None and rebatched_worker_size is not None:
                torch_arguments["batch_size"] = rebatched_worker_size
        super().__init__(dataset, **torch_arguments)

        if self._owns_accessor:
            arguments = dict(async_options or {})
            require(
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
        return None if self._combined is None else self._combined.size

    @property
    def _num_batches_to_combine(self) -> int | None:
        return None if self._combined is None else self._combined.micro_batches

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
        require(
            not shuffle or options.exists("random_seed"),
            "auto_distributed_partitioning of shuffled data needs poptorch.Options.randomSeed() with the same "
            "seed in all processes, so that all of them use the same order.",
        )
        require(
            self._combined is not None,
            "batch_size=None not allowed when using auto_distributed_partitioning.",
        )
        block = block_of(
            options.Distributed.processId,
            options.Distributed.numProcesses,
            len(dataset),
            self.combinedBatchSize or 1,
            drop_last,
        )
        return PartitionedDataset(dataset, block, options.random_seed if shuffle else None)

    def _check_length(self, elements: int, batch_sampler: Any, mode: DataLoaderMode) -> None:
        if self._combined is None:
            return
        if self._drop_incomplete:
            # the process of an asynchronous loader needs the shapes of a first batch
            needed = mode == DataLoaderMode.Async
            self._combined.check_there_is_one(elements, batch_sampler, first_is_needed=needed)
        else:
            self._combined.warn_about_remainder(elements, batch_sampler)

    def _rebatched_size(
        self, mode: DataLoaderMode, worker_size: int | None, async_options: dict[str, Any] | None
    ) -> int | None:
        """The batch size that the accessor has to make, or None if it is to pass batches on."""
        combined = self.combinedBatchSize
        # A smaller last batch is something only rebatching can hand out through slots of one size.
        remainder = mode == DataLoaderMode.Async and not self._drop_incomplete and combined not in (None, 1)
        if mode == DataLoaderMode.AsyncRebatched or remainder:
            require(
                worker_size is None or (combined is not None and worker_size <= combined),
                f"The rebatched_worker_size ({worker_size}) must be <= the combined batch size ({combined}).",
            )
            return combined
        if worker_size is not None:
            logger.warning("rebatched_worker_size has no effect: it needs DataLoaderMode.AsyncRebatched.")
        if mode == DataLoaderMode.Sync and async_options:
            logger.warning("async_options have no effect: the mode is DataLoaderMode.Sync.")
        return None


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


def _refuse_what_a_sampler_replaces(batch_size: int | None, shuffle: bool | None, partitioned: bool) -> None:
    if batch_size != 1 or shuffle:
        raise Error("`batch_sampler` option is mutually exclusive with batch_size, shuffle.")
    if partitioned:
        raise Error(
            "`batch_sampler` option is mutually exclusive with auto_distributed_partitioning=True: "
            "make the sampler of each process return its own part, and pass False."
        )


def _warn_about_repeated_elements(workers: int) -> None:
    logger.warning(
        "An IterableDataset is read by num_workers=%d processes without a worker_init_fn: every "
        "element will be returned %d times. Give a worker_init_fn that lets each worker read "
        "its own part.",
        workers,
        workers,
    )


def _elements(dataset: Any) -> int:
    return len(dataset)
