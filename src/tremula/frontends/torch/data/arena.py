"""How a loader's worker process hands over batches: through memory that is mapped once.

Torch's loaders make a new piece of shared memory for each tensor and pass its descriptor through a socket,
which takes longer than loading a small batch does. Here each worker process has a file without a name, cut
into slots; it writes a batch into a free slot and only sends where the tensors are. What the receiver builds
are views of the slot, which becomes free again when the last of them is gone. A batch that finds no place
travels in torch's way.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import mmap
import os
import pickle
import tempfile
import weakref
from collections.abc import Hashable
from multiprocessing import context
from multiprocessing.reduction import DupFd
from typing import Any

import numpy as np
import torch
import torch.utils.data

from tremula.frontends.torch.data.collate import BatchCollate, is_plain
from tremula.invariants import present

_FLAGS_BYTES = mmap.PAGESIZE  # a byte per slot at the beginning of the file: 1 while the slot is in use
_ALIGNMENT = 64
_keys = itertools.count()
_receivers: weakref.WeakValueDictionary[tuple[int, int], Arenas] = weakref.WeakValueDictionary()


def available() -> bool:
    """Whether the platform can map a file without a name in two processes."""
    return os.name == "posix"


class Arenas:
    """The files of the workers of one iteration, as the receiver has them.

    `slots` batches of one worker can be under way or in use at a time.
    """

    def __init__(self, workers: int, slots: int) -> None:
        self.key = (os.getpid(), next(_keys))
        self.slots = slots
        self.files = [_nameless_file() for _ in range(workers)]
        self._mappings: list[mmap.mmap | None] = [None] * workers
        weakref.finalize(self, _close, self.files)
        _receivers[self.key] = self

    def mapping(self, worker: int, size: int) -> mmap.mmap:
        """The memory of a worker's file, which has this size since its first batch."""
        mapping = self._mappings[worker]
        if mapping is None:
            mapping = self._mappings[worker] = mmap.mmap(self.files[worker], size)
        return mapping


class Lease:
    """Keeps a slot from being written, as long as it lives."""

    __slots__ = ("memory", "slot")

    def __init__(self, memory: mmap.mmap, slot: int) -> None:
        self.memory = memory
        self.slot = slot

    def __del__(self) -> None:
        self.memory[self.slot] = 0


class Parcel:
    """A received batch, not unpacked yet. Dropping it frees its slot."""

    def __init__(self, lease: Lease, description: bytes) -> None:
        self._lease = lease
        self._description = description

    def unpack(self) -> Any:
        """The batch; its tensors are views of the slot."""
        return _Unpacker(self._description, self._lease).load()


class PackingCollate:
    """A collate function for worker processes: what it returns is sent as a few bytes."""

    def __init__(self, collate: Any, arenas: Arenas) -> None:
        self._collate = collate
        self._key = arenas.key
        self._files = arenas.files
        self._slots = arenas.slots
        self._writer: _Writer | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        # Only while a process is being started: this object goes nowhere else.
        context.assert_spawning(self)
        state["_files"] = [DupFd(file) for file in self._files]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._files = [file.detach() for file in state["_files"]]

    def __call__(self, samples: Any) -> Any:
        writer = self._writer
        if writer is None:
            information = torch.utils.data.get_worker_info()
            if information is None:  # not in a worker process
                return self._collate(samples)
            worker = information.id
            writer = self._writer = _Writer(self._files[worker], self._slots, (self._key, worker))
        direct = isinstance(self._collate, BatchCollate) and writer.begin()
        if not direct:
            batch = self._collate(samples)
            return writer.pack(batch)
        self._collate.allocate = writer.allocate
        try:
            batch = self._collate(samples)
        except BaseException:
            writer.give_up()
            raise
        finally:
            self._collate.allocate = None
        return writer.pack(batch)


class _Writer:
    """A worker's own file."""

    def __init__(self, file: int, slots: int, address: tuple[tuple[int, int], int]) -> None:
        self._file = file
        self._slots = slots
        self._address = address
        self._memory: mmap.mmap | None = None
        self._capacity = 0
        self._slot: int | None = None
        self._used = 0
        #: tensors that are in the slot already, by identity
        self._placed: dict[int, tuple[torch.Tensor, int]] = {}

    def begin(self) -> bool:
        """Take a free slot; False if there is none."""
        if self._memory is None:
            return False
        for slot in range(self._slots):
            if not self._memory[slot]:
                self._memory[slot] = 1
                self._slot = slot
                self._used = 0
                return True
        return False

    def give_up(self) -> None:
        """Free the slot that was taken last."""
        if self._slot is not None and self._memory is not None:
            self._memory[self._slot] = 0
        self._slot = None
        self._placed.clear()

    def allocate(self, key: Hashable, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
        """A tensor in the slot, or None if it does not fit."""
        count = math.prod(shape)
        size = count * dtype.itemsize
        if self._memory is None or self._slot is None or not size or self._used + size > self._capacity:
            return None
        at = _FLAGS_BYTES + self._slot * self._capacity + self._used
        tensor = torch.frombuffer(self._memory, dtype=dtype, count=count, offset=at).view(shape)
        self._used += _aligned(size)
        self._placed[id(tensor)] = (tensor, at)
        return tensor

    def place(self, tensor: torch.Tensor) -> int:
        """The place in the file of a tensor of the batch, which is copied there unless it is there already."""
        known = self._placed.get(id(tensor))
        if known is not None:
            return known[1]
        target = None if not is_plain(tensor) else self.allocate(None, tuple(tensor.shape), tensor.dtype)
        if target is None:
            raise _NoPlace
        at = self._placed.pop(id(target))[1]
        target.copy_(tensor)
        self._placed[id(tensor)] = (tensor, at)
        return at

    def pack(self, batch: Any) -> Any:
        """What to send for a batch: its description, or itself if it cannot be written to a slot."""
        if self._slot is None and not self._set_up(batch):
            return batch
        stream = io.BytesIO()
        try:
            _Packer(stream, self).dump(batch)
        except Exception:
            # No place, or something that cannot be pickled: torch has its own ways, or its own message.
            self.give_up()
            return batch
        if not self._placed:
            self.give_up()
            return batch
        slot = present(self._slot, "the slot")
        size = len(present(self._memory, "the shared memory"))
        packed = _Packed(*self._address, slot, size, stream.getvalue())
        self._slot = None
        self._placed.clear()
        return packed

    def _set_up(self, batch: Any) -> bool:
        """Take a slot; the first batch decides on their size."""
        if self._memory is None:
            measure = _Measure()
            try:
                measure.dump(batch)
            except Exception:
                return False
            if not measure.size:
                return False
            # Twice the first batch, for those that are larger: what is not written takes no memory.
            page = mmap.PAGESIZE
            self._capacity = (2 * measure.size + page - 1) // page * page
            size = _FLAGS_BYTES + self._slots * self._capacity
            os.ftruncate(self._file, size)
            self._memory = mmap.mmap(self._file, size)
        return self.begin()


class _NoPlace(Exception):
    """A tensor cannot be written to the slot."""


class _Packer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, writer: _Writer) -> None:
        super().__init__(stream, protocol=pickle.HIGHEST_PROTOCOL)
        self._writer = writer

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, torch.Tensor):
            return None
        return self._writer.place(obj), tuple(obj.shape), obj.dtype


class _Measure(pickle.Pickler):
    """Finds out how much room the tensors of a batch need."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), protocol=pickle.HIGHEST_PROTOCOL)
        self.size = 0

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, torch.Tensor):
            return None
        self.size += _aligned(obj.numel() * obj.element_size())
        return 0


class _Unpacker(pickle.Unpickler):
    def __init__(self, description: bytes, lease: Lease) -> None:
        super().__init__(io.BytesIO(description))  # from our own worker process, through its private pipe
        self._lease = lease

    def persistent_load(self, pid: Any) -> torch.Tensor:
        at, shape, dtype = pid
        size = math.prod(shape) * dtype.itemsize
        memory = np.ndarray.__new__(_LeasedMemory, (size,), np.uint8, self._lease.memory, at)
        memory.lease = self._lease
        return torch.frombuffer(memory, dtype=dtype).view(shape)


class _LeasedMemory(np.ndarray[Any, np.dtype[np.uint8]]):
    """The memory of one tensor: the tensor keeps this object, and this keeps the slot."""

    lease: Lease


class _Packed:
    """A batch on its way to the receiver."""

    def __init__(self, key: tuple[int, int], worker: int, slot: int, size: int, description: bytes) -> None:
        self._content = (key, worker, slot, size, description)

    def __reduce__(self) -> tuple[Any, ...]:
        return _receive, self._content


def _receive(key: tuple[int, int], worker: int, slot: int, size: int, description: bytes) -> Parcel | None:
    arenas = _receivers.get(key)
    if arenas is None:  # no consumer waits for it
        return None
    return Parcel(Lease(arenas.mapping(worker, size), slot), description)


def _aligned(size: int) -> int:
    return (size + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT


def _nameless_file() -> int:
    """A descriptor of an empty file that goes away with its last user, even one that is killed."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("tremula-batches", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile(prefix="tremula-") as file:
        return os.dup(file.fileno())


def _close(files: list[int]) -> None:
    for file in files:
        with contextlib.suppress(OSError):
            os.close(file)
