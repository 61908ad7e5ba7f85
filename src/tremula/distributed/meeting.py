"""Where the instances of a run meet: the key-value store whose address the launcher gives to each of them.

It is torch's own rendezvous (MASTER_ADDR and MASTER_PORT), so programs started by torch's launcher meet in the same
way. Under a prefix of its own an instance also leaves notes there for the launcher; these never hold a program up.
"""

from __future__ import annotations

import datetime
import os
import threading

from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from tremula import log
from tremula.distributed import launched
from tremula.errors import Error

#: what all keys of ours begin with
PREFIX = "tremula"
#: a note is not worth waiting for
_NOTE_SECONDS = 3.0
_LONGEST_NOTE = 200

_lock = threading.Lock()
_stores: dict[tuple[int, int, str], Store] = {}
_left: set[str] = set()


def has_address() -> bool:
    """Whether the environment says where to meet."""
    return bool(os.environ.get("MASTER_ADDR") and os.environ.get("MASTER_PORT"))


def store(rank: int, size: int, seconds: float) -> Store:
    """The store of the run, under the prefix of ours.

    Args:
        rank: index of this instance.
        size: number of instances.
        seconds: how long to try.

    Raises:
        Error: nothing says where it is, or it cannot be reached in time.
    """
    if not has_address():
        raise Error(
            f"This is instance {rank} of {size}, but nothing says where the instances meet: MASTER_ADDR and "
            "MASTER_PORT are not set. Start the program with poprun, which sets them, or set them to a host and a free "
            "port, the same for all instances. Options.Distributed.disable() makes each instance work for itself."
        )
    address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    with _lock:
        found = _stores.get((rank, size, address))
        if found is None:
            found = PrefixStore(PREFIX, _connected(rank, size, seconds, address))
            _stores[rank, size, address] = found
        found.set_timeout(datetime.timedelta(seconds=seconds))
    return found


def _connected(rank: int, size: int, seconds: float, address: str) -> Store:
    timeout = datetime.timedelta(seconds=seconds)
    try:
        found: Store = next(rendezvous("env://", rank=rank, world_size=size, timeout=timeout))[0]
    except (RuntimeError, ValueError, OSError) as problem:
        raise Error(
            f"Instance {rank} of {size} cannot reach the place where the instances meet ({address}) within "
            f"{seconds:g} s: {_first_line(problem)}. Is the launcher, or instance 0, still running, and can this host "
            "reach it?"
        ) from problem
    return found


def leave_note(name: str, text: str = "1") -> None:
    """Tell the launcher something about this instance, once; without a launcher that listens nothing happens."""
    if name in _left or launched.instances() <= 1 or not has_address():
        return
    _left.add(name)
    line = "".join(c if c.isprintable() else "?" for c in text)[:_LONGEST_NOTE]
    try:
        rank = launched.instance()
        store(rank, launched.instances(), _NOTE_SECONDS).set(f"{name}/{rank}", line)
    except (Error, RuntimeError) as problem:
        log.layer("tremula").debug("the launcher cannot be told about %s: %s", name, problem)


def forget() -> None:
    """Drop the connections; the next use connects anew."""
    with _lock:
        _stores.clear()
    _left.clear()


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
