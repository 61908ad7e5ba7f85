"""Locks on virtual IPUs, shared by all processes of the user.

One byte of a lock file stands for one IPU. POSIX record locks fit: a device of many IPUs is one range, taken in
one call, and the kernel drops a lock when its process ends, in whatever way. Children of a fork do not inherit it. It
also reports the holder. But closing any descriptor of the file drops all locks of the process. So a process
opens the file once, here, and never closes it.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
import threading
from pathlib import Path

from tremula.errors import Error
from tremula.private_files import Untrusted, open_to_update

try:
    import fcntl
except ImportError:  # not a POSIX system
    POSIX = False
else:
    POSIX = True

#: where the bytes begin that stand for reservations of a launcher
_RESERVED = 1 << 16
#: struct flock with 64-bit offsets; Linux begins with type and whence, the BSDs with start and length
_LINUX, _BSD = "hhqqi4x", "qqihh"


class DeviceLocks:
    """The lock file of one system, as seen by this process."""

    def __init__(self, path: Path) -> None:
        self._guard = threading.RLock()
        self._path = path
        self._pid = os.getpid()
        #: IPUs that models of this process hold; the kernel does not tell them apart
        self._own: set[int] = set()
        self._own_reserved: set[int] = set()
        try:
            self._descriptor = open_to_update(path)
        except Untrusted as problem:
            raise Error(
                f"The lock file of the virtual IPUs is not safe from changes by other users: {problem}. "
                "Set TREMULA_STATE_DIR to another folder."
            ) from None
        except OSError as problem:
            raise Error(
                f"The lock file of the virtual IPUs, {path}, cannot be opened: {problem.strerror}. "
                "Make it writable, or set TREMULA_STATE_DIR to another folder."
            ) from problem

    def take(self, ipus: range, *, admitted: int | None = None) -> bool:
        """Take all of `ipus` or none; False if one is held, or reserved by a process other than `admitted`."""
        with self._guard:
            self._check_fork()
            if not self._own.isdisjoint(ipus) or not self._lock(ipus.start, len(ipus)):
                return False
            # First take, then check: of two processes that come at once, at least one sees the other.
            reserver = self._holder(_RESERVED + ipus.start, len(ipus))
            if reserver is not None and reserver != admitted:
                self._unlock(ipus.start, len(ipus))
                return False
            self._own.update(ipus)
            return True

    def release(self, ipus: range) -> None:
        """Release what `take` took."""
        with self._guard:
            if self._check_fork():
                return
            self._own.difference_update(ipus)
            self._unlock(ipus.start, len(ipus))

    def reserve(self, ipus: range) -> bool:
        """Keep `ipus` for processes that are admitted; False if one of them is held or reserved."""
        with self._guard:
            self._check_fork()
            if not self._own_reserved.isdisjoint(ipus) or not self._lock(_RESERVED + ipus.start, len(ipus)):
                return False
            if self.any_held(ipus):
                self._unlock(_RESERVED + ipus.start, len(ipus))
                return False
            self._own_reserved.update(ipus)
            return True

    def end_reservation(self, ipus: range) -> None:
        """Release what `reserve` kept."""
        with self._guard:
            if self._check_fork():
                return
            self._own_reserved.difference_update(ipus)
            self._unlock(_RESERVED + ipus.start, len(ipus))

    def any_held(self, ipus: range) -> bool:
        """Whether any process holds one of `ipus`."""
        with self._guard:
            return not self._own.isdisjoint(ipus) or self._holder(ipus.start, len(ipus)) is not None

    def holder(self, ipu: int) -> int | None:
        """The process that holds an IPU; 0 where it is in another process namespace."""
        with self._guard:
            if ipu in self._own and self._pid == os.getpid():
                return self._pid
            return self._holder(ipu, 1)

    def reserver(self, ipu: int) -> int | None:
        """The process that keeps an IPU for those it has started."""
        with self._guard:
            if ipu in self._own_reserved and self._pid == os.getpid():
                return self._pid
            return self._holder(_RESERVED + ipu, 1)

    # -- the kernel --------------------------------------------------------------------------------------

    def _check_fork(self) -> bool:
        """Forget the held devices in a forked child."""
        if self._pid == os.getpid():
            return False
        self._pid = os.getpid()
        self._own.clear()
        self._own_reserved.clear()
        return True

    def _lock(self, start: int, length: int) -> bool:
        if not POSIX:  # holds are known within one process only
            return True
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except OSError as problem:
            if problem.errno in (errno.EACCES, errno.EAGAIN):
                return False
            raise Error(
                f"The file system of {self._path} does not support locks ({problem.strerror}), so virtual IPUs "
                "cannot be allocated. Set TREMULA_STATE_DIR to a folder on another file system."
            ) from problem
        return True

    def _unlock(self, start: int, length: int) -> None:
        if POSIX:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, length, start)

    def _holder(self, start: int, length: int) -> int | None:
        """The first other process with a lock in the range."""
        if not POSIX:
            return None
        if sys.platform == "linux":
            query = struct.pack(_LINUX, fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
            answer = fcntl.fcntl(self._descriptor, fcntl.F_GETLK, query)
            kind, _, _, _, pid = struct.unpack(_LINUX, answer)
        else:
            query = struct.pack(_BSD, start, length, 0, fcntl.F_WRLCK, os.SEEK_SET)
            answer = fcntl.fcntl(self._descriptor, fcntl.F_GETLK, query)
            _, _, pid, kind, _ = struct.unpack(_BSD, answer)
        return None if kind == fcntl.F_UNLCK else max(0, pid)


_opened: dict[Path, DeviceLocks] = {}
_opening = threading.Lock()


def device_locks_in(folder: Path) -> DeviceLocks:
    """The lock file in `folder`; one object for each process and file."""
    path = folder / "holds"
    with _opening:
        found = _opened.get(path)
        if found is None or not path.exists():  # it was removed; start with a new file
            found = _opened[path] = DeviceLocks(path)
        return found
