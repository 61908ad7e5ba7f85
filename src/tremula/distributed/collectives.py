"""Collective operations between the instances of a run: sums, broadcasts and barriers over gloo.

The group is separate from torch's default process group, which a program may have as well. It is made once per process,
when it is first needed. Errors name the instances that are missing, not a socket's number.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import ctypes
import datetime
import itertools
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch._C._distributed_c10d import BroadcastOptions, PrefixStore, ProcessGroupGloo

from tremula import log, stack_layers
from tremula.distributed import network_interface, rendezvous
from tremula.distributed.missing_ranks import MissingRanks, named
from tremula.distributed.sends import Sends
from tremula.errors import Error

_lock = threading.RLock()
#: how often each group was made in this process
_formed: collections.Counter[tuple[int, ...]] = collections.Counter()
_groups: dict[tuple[int, ...], Group] = {}
#: the instances to which talk is restricted at the moment; None: no restriction
_among: tuple[int, ...] | None = None
#: what gloo adds up
_SUMMED = (
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8, torch.int32, torch.int64,
    torch.complex64, torch.complex128,
)  # fmt: skip
_SUMMED_TEXT = ", ".join(str(dtype).removeprefix("torch.") for dtype in _SUMMED)


class Group:
    """Some instances of a run. Every member must make the same calls in the same order.

    `members` are indices among the `size` instances of the run. Raises Error if one waits longer than `seconds`.
    """

    def __init__(self, instance: int, members: Sequence[int], size: int, seconds: float) -> None:
        self.instance = instance
        self.members = tuple(members)
        self.run_size = size
        self._seconds = seconds
        self._pending: list[Any] = []
        self.sends = Sends()
        self._broken: Error | None = None
        whole = rendezvous.connect(instance, size, seconds)
        # what a group that was closed has left in the store is of no use to the next one
        _formed[self.members] += 1
        name = f"group-{'-'.join(map(str, self.members))}/{_formed[self.members]}"
        self.store = PrefixStore(name, whole)
        #: numbers the questions on which the members have to agree
        self.questions = itertools.count()
        self._missing = MissingRanks(self.store, instance, self.members)
        self._gloo: Any = None
        self._take_place()
        self._form()

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.members)

    @property
    def rank(self) -> int:
        """Position of this instance among the members."""
        return self.members.index(self.instance)

    def _take_place(self) -> None:
        """See that no other process talks as this instance."""
        own = f"{socket.gethostname()} {os.getpid()}"
        holder = self.store.compare_set(f"joined/{self.instance}", "", own).decode(errors="replace")
        if holder != own:
            raise Error(
                f"Another process talks to the others as instance {self.instance} already (host and process: "
                f"{holder!r}). A process that an instance starts, to load data for example, has no part in the run: "
                "put what the program does under `if __name__ == '__main__':`, so that such a process does not do it "
                "again.",
                type=stack_layers.INSTANCE_ERROR,
            )

    def _form(self) -> None:
        options = ProcessGroupGloo._Options()  # type: ignore[attr-defined]
        options._timeout = datetime.timedelta(seconds=self._seconds)
        try:
            options._devices = [network_interface.device()]
            own = PrefixStore("gloo", self.store)
            own.set_timeout(options._timeout)
            self._gloo = ProcessGroupGloo(own, self.rank, self.size, options)
            self._gloo.allreduce([torch.zeros(1)]).wait()
        except (RuntimeError, ValueError) as problem:
            self._gloo = None
            raise self._not_formed(problem) from problem
        log.layer("tremula").debug(
            "instance %d: %s can talk to each other", self.instance, named(self.members)
        )

    def _not_formed(self, problem: BaseException) -> Error:
        with contextlib.suppress(RuntimeError):
            late = [m for m in self.members if not self.store.check([f"joined/{m}"])]
            if late:
                return Error(
                    f"Instance {self.instance} waited {self._seconds:g} s for {named(late)} of {self.run_size} without "
                    "an answer. Has every instance started, and does each train a distributed model or call init()? A "
                    "longer wait: target.hostSyncTimeout in POPLAR_RUNTIME_OPTIONS.",
                    type=stack_layers.INSTANCE_ERROR,
                )
        return Error(
            f"The instances cannot talk to each other: {rendezvous.first_line(problem)}. Each host must reach the "
            "others; GLOO_SOCKET_IFNAME names the network interface to use.",
            type=stack_layers.INSTANCE_ERROR,
        )

    # -- talking -----------------------------------------------------------------------------------------

    def start_sum(self, tensor: torch.Tensor) -> Any:
        """Begin to replace a contiguous tensor by the sum over all members, bit for bit the same on each.

        Raises Error for a type that cannot be summed.
        """
        self._check()
        if tensor.dtype not in _SUMMED:
            kind = str(tensor.dtype).removeprefix("torch.")
            raise Error(
                f"A tensor of type {kind} cannot be summed over instances; the types that can are {_SUMMED_TEXT}. "
                "Convert it first, with tensor.float() or tensor.int().",
                type=stack_layers.INSTANCE_ERROR,
            )
        try:
            work = self._gloo.allreduce([tensor])
        except RuntimeError as problem:
            raise self._failed(problem) from problem
        self._pending.append(work)
        return work

    def wait(self, work: Any) -> None:
        """Wait until an operation is complete; raises Error if an instance is missing; says which."""
        try:
            work.wait()
        except RuntimeError as problem:
            raise self._failed(problem) from problem
        finally:
            if work.is_completed():
                self._pending.remove(work)

    def sum(self, tensor: torch.Tensor) -> None:
        """Replace a contiguous tensor by the sum over all members."""
        self.wait(self.start_sum(tensor))

    def broadcast(self, tensor: torch.Tensor, source: int = 0) -> None:
        """Replace a contiguous tensor by that of the member in position `source`."""
        self._check()
        options = BroadcastOptions()
        options.rootRank, options.rootTensor = source, 0
        work = self._gloo.broadcast([_bytes(tensor)], options)
        self._pending.append(work)
        self.wait(work)

    def gather(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Every member's tensor, all of the same shape."""
        self._check()
        found = [torch.empty_like(tensor) for _ in self.members]
        work = self._gloo.allgather([[_bytes(each) for each in found]], [_bytes(tensor)])
        self._pending.append(work)
        self.wait(work)
        return found

    def start_send(self, tensor: torch.Tensor, position: int, tag: int) -> None:
        """Begin to send a contiguous tensor, which must not change any more, to one member."""
        self._check()
        self.sends.add(tensor, self._gloo.send([tensor], position, tag))

    def receive(self, tensor: torch.Tensor, position: int, tag: int) -> None:
        """Fill a contiguous tensor with what one member sent with this tag; arrivals keep their order."""
        self._check()
        work = self._gloo.recv([tensor], position, tag)
        self._pending.append(work)
        self.wait(work)

    def barrier(self) -> None:
        """Until all members are here."""
        self.sum(torch.zeros(1))

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken
        if _among is not None and _among != self.members:
            raise Error(
                f"{named(self.members)} would have to talk to each other here, but this is inside of "
                f"execute_on_instances for {named(_among)} only. A training model needs all instances: compile and "
                "call it outside.",
                type=stack_layers.INSTANCE_ERROR,
            )
        if self._gloo is None:
            raise Error("The instances do not talk to each other any more: the backend was finalised.")

    def _failed(self, problem: BaseException) -> Error:
        if self._broken is None:
            self._missing.report_failure()
            missing = self._missing.describe() or "another instance is missing"
            log.layer("tremula").debug("instance %d: %s", self.instance, problem)
            self._broken = Error(
                f"Instance {self.instance} of {self.run_size} cannot go on without the others: {missing}. Look at the "
                "first message of that instance. An instance that is only slow gets more time with "
                f"target.hostSyncTimeout in POPLAR_RUNTIME_OPTIONS (seconds; now {self._seconds:g}).",
                type=stack_layers.INSTANCE_ERROR,
            )
        return self._broken

    def close(self) -> None:
        """Close the connections without waiting for the others."""
        gloo, self._gloo = self._gloo, None
        if gloo is None:
            return
        self._missing.report_end()
        if self.sends.under_way or any(not work.is_completed() for work in self._pending):
            # Its threads wait for other instances, and its destructor for the threads: it stays until the process ends.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(gloo))


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The memory of a contiguous tensor: gloo moves some types only."""
    return tensor.view(-1).view(torch.uint8)


def whole(instance: int, size: int, seconds: float) -> Group:
    """The group of all instances of the run."""
    return among(range(size), instance, size, seconds)


def among(members: Sequence[int], instance: int, size: int, seconds: float) -> Group:
    """The group of some instances, this one among them; made when it is first asked for."""
    key = tuple(members)
    with _lock:
        found = _groups.get(key)
        if found is None:
            found = _groups[key] = Group(instance, key, size, seconds)
        elif (found.instance, found.run_size) != (instance, size):
            raise Error(
                f"This process talks to the others as instance {found.instance} of {found.run_size}, and cannot be "
                f"instance {instance} of {size} as well: Options.Distributed of its models must agree.",
                type=stack_layers.INSTANCE_ERROR,
            )
    return found


@contextlib.contextmanager
def restricted_to(members: Sequence[int]) -> Iterator[None]:
    """While inside, only these instances may talk to each other."""
    global _among
    before, _among = _among, tuple(members)
    try:
        yield
    finally:
        _among = before


def restriction() -> tuple[int, ...] | None:
    """The instances that may talk at the moment, or None for all."""
    return _among


@atexit.register
def close_all() -> None:
    """Let go of all groups."""
    with _lock:
        for group in _groups.values():
            group.close()
        _groups.clear()
