"""The key-value store through which the instances of a run find each other, as an instance sees it.

Where the launcher started all instances on one host, it is the launcher's store. Elsewhere it is torch's own rendezvous
(MASTER_ADDR and MASTER_PORT), so it also works under torch's launcher. An instance also writes notes for the launcher
there, under our own prefix; a note never delays the program for long.
"""

from __future__ import annotations

import datetime
import os
import threading
from typing import NamedTuple

from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from tremula import log
from tremula.distributed import launch_environment, protocol
from tremula.distributed.local_store import LocalStore
from tremula.errors import Error

#: how long a note may take
_NOTE_SECONDS = 3.0


class _Opened(NamedTuple):
    """A store that is open."""

    prefixed: Store
    #: torch calls the methods of a store written in Python for as long as its object is there
    itself: Store


_lock = threading.Lock()
_stores: dict[tuple[int, int, str], _Opened] = {}
_notes: set[str] = set()


def has_address() -> bool:
    """Whether the environment gives the address of the store."""
    return bool(
        os.environ.get(protocol.LOCAL_STORE)
        or (os.environ.get(protocol.STORE_ADDRESS) and os.environ.get(protocol.STORE_PORT))
    )


def connect(rank: int, size: int, seconds: float) -> Store:
    """The store of the run, under the prefix of ours; Error if it is not known or cannot be reached in `seconds`."""
    if not has_address():
        raise Error(
            f"This is instance {rank} of {size}, but nothing says where the instances meet: MASTER_ADDR and "
            "MASTER_PORT are not set. Start the program with poprun, which sets them, or set them to a host and a free "
            "port, the same for all instances. Options.Distributed.disable() makes each instance work for itself."
        )
    local = os.environ.get(protocol.LOCAL_STORE)
    address = local or f"{os.environ[protocol.STORE_ADDRESS]}:{os.environ[protocol.STORE_PORT]}"
    with _lock:
        found = _stores.get((rank, size, address))
        if found is None:
            opened = _open_store(rank, size, seconds, local)
            found = _stores[rank, size, address] = _Opened(PrefixStore(protocol.STORE_PREFIX, opened), opened)
        found.prefixed.set_timeout(datetime.timedelta(seconds=seconds))
    return found.prefixed


def _open_store(rank: int, size: int, seconds: float, local: str | None) -> Store:
    timeout = datetime.timedelta(seconds=seconds)
    try:
        if local:
            return LocalStore(local, seconds)
        found: Store = next(rendezvous("env://", rank=rank, world_size=size, timeout=timeout))[0]
    except (RuntimeError, ValueError, OSError) as problem:
        address = f"{os.environ.get(protocol.STORE_ADDRESS)}:{os.environ.get(protocol.STORE_PORT)}"
        where = "the launcher's store" if local else address
        raise Error(
            f"Instance {rank} of {size} cannot reach the place where the instances meet ({where}) within "
            f"{seconds:g} s: {first_line(problem)}. Is the launcher, or instance 0, still running, and can this host "
            "reach it?"
        ) from problem
    return found


def write_note(name: str, text: str = "1") -> None:
    """Write a note about this instance for the launcher, once; without a launcher nothing happens."""
    if name in _notes or launch_environment.instances() <= 1 or not has_address():
        return
    _notes.add(name)
    line = "".join(c if c.isprintable() else "?" for c in text)[: protocol.LONGEST_NOTE]
    try:
        rank = launch_environment.instance()
        connect(rank, launch_environment.instances(), _NOTE_SECONDS).set(f"{name}/{rank}", line)
    except (Error, RuntimeError) as problem:
        log.layer("tremula").debug("the note %s for the launcher was not written: %s", name, problem)


def disconnect() -> None:
    """Drop the connections; the next use connects again."""
    with _lock:
        _stores.clear()
    _notes.clear()


def first_line(problem: BaseException) -> str:
    """The first line of an error's text, or its class."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
