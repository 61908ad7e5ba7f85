"""A disk that is full, has no room for another file, is read-only, or is over quota."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_FS, _NEWNS, _RDONLY, _REMOUNT, _REC, _PRIVATE = 0x200, 0x20000, 1, 32, 16384, 1 << 18
FILLER = "filler"
#: a file whose content is obeyed by the preloaded library; not set without it
SWITCH = os.environ.get("QUOTA_SWITCH", "")


def kinds(*names: str) -> list[str]:
    """Faults to test; with the preloaded library these are quotas."""
    quotas = {"full": "over_quota", "no_inodes": "over_file_quota"}
    return [quotas[name] for name in names if name in quotas] if SWITCH else list(names)


class Disk:
    """A folder on a small file system, and what can go wrong with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    @contextlib.contextmanager
    def fault(self, kind: str) -> Iterator[int]:
        """Inside, the disk fails in the way of `kind`; gives the error number that writers get."""
        try:
            yield getattr(self, f"_{kind}")()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)
            if SWITCH:
                Path(SWITCH).unlink()
            if kind == "read_only":
                self._remount(0)
            for each in self.folder.glob(f"{FILLER}*"):
                each.unlink()

    def _full(self) -> int:
        with contextlib.suppress(OSError), open(self.folder / FILLER, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        return errno.ENOSPC

    def _no_inodes(self) -> int:
        with contextlib.suppress(OSError):
            for number in range(10_000):
                (self.folder / f"{FILLER}{number}").touch()
        return errno.ENOSPC

    def _read_only(self) -> int:
        self._remount(_RDONLY)
        return errno.EROFS

    def _over_quota(self) -> int:
        Path(SWITCH).write_text(f"b{self.folder}")
        return errno.EDQUOT

    def _over_file_quota(self) -> int:
        Path(SWITCH).write_text(f"f{self.folder}")
        return errno.EDQUOT

    def _limited(self) -> int:
        # a limit on the size of files stops writers as a quota does, and needs no rights
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, self._limits[1]))
        return errno.EFBIG

    def _remount(self, flags: int) -> None:
        _system("mount", b"none", bytes(self.folder), b"tmpfs", _REMOUNT | flags, None)

    def contents(self) -> dict[str, bytes]:
        """All files, but for locks, which are empty."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in files
            if not path.name.startswith(FILLER) and path.suffix != ".lock"
        }


@contextlib.contextmanager
def small_file_system(folder: Path) -> Iterator[None]:
    """Inside, `folder` is a file system of 1 MiB and 40 files that this thread alone sees.

    Raises:
        OSError: none can be made here.
    """
    outside = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    try:
        _system("unshare", _NEWNS)
        _system("mount", b"none", b"/", None, _REC | _PRIVATE, None)
        _system("mount", b"none", bytes(folder), b"tmpfs", 0, b"size=1m,nr_inodes=40,mode=700")
    except OSError:
        os.close(outside)
        raise
    try:
        yield
    finally:
        _system("umount2", bytes(folder), 2)
        # threads that a test started share it, and then the namespace cannot be changed
        _system("unshare", _FS)
        _system("setns", outside, _NEWNS)
        os.close(outside)


def _system(name: str, *arguments: Any) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
