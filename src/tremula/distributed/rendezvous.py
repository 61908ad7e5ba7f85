"""The key-value store through which the instances of a run find each other, as an instance sees it.

It is torch's own rendezvous (MASTER_ADDR and MASTER_PORT), so it also works under torch's launcher. An instance also
writes notes for the launcher there, under our own prefix; a note never delays the program for long.
"""

from __future__ import annotations

import datetime
import os
import threading

from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from tremula import log
from tremula.distributed import launch_environment, protocol
from tremula.errors import Error

#: how long a note may take
_NOTE_SECONDS = 3.0

_lock = threading.Lock()
_stores: dict[tuple[int, int, str], Store] = {}
_notes: set[str] = set()


def has_address() -> bool:
    """Whether the environment gives the address of the store."""
    return bool(os.environ.get(protocol.STORE_ADDRESS) and os.environ.get(protocol.STORE_PORT))


def connect(rank: int, size: int, seconds: float) -> Store:
    """The store of the run, under the prefix of ours; Error if it is not known or cannot be reached in `seconds`."""
    if not has_address():
        raise Error(
            f"This is instance {rank} of {size}, but nothing says where the instances meet: MASTER_ADDR and "
            "MASTER_PORT are not set. Start the program with poprun, which sets them, or set them to a host and a free "
            "port, the same for all instances. Options.Distributed.disable() makes each instance work for itself."
        )
    address = f"{os.environ[protocol.STORE_ADDRESS]}:{os.environ[protocol.STORE_PORT]}"
    with _lock:
        found = _stores.get((rank, size, address))
        if found is None:
            found = PrefixStore(protocol.STORE_PREFIX, _open_store(rank, size, seconds, address))
            _stores[rank, size, address] = found
        found.set_timeout(datetime.timedelta(seconds=seconds))
    return found


def _open_store(rank: int, size: int, seconds: float, address: str) -> Store:
    timeout = datetime.timedelta(seconds=seconds)
    try:
        found: Store = next(rendezvous("env://", rank=rank, world_size=size, timeout=timeout))[0]
    except (RuntimeError, ValueError, OSError) as problem:
        raise Error(
            f"Instance {rank} of {size} cannot reach the place where the instances meet ({address}) within "
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
