"""Atomic file writes: a file is written under a temporary name, flushed to disk and renamed when it is complete.

A reader sees the old file or the new one, never a part. A writer that fails or is interrupted, at whatever moment,
removes its temporary file; one that is killed leaves it behind, and the old file as it was. What goes wrong is an
OSError that names the final file, also where a library that writes the file has its own exception for a full disk.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

#: how the name of an unfinished file ends
SUFFIX = ".part"
#: more than a disk that refused a write still takes
_PROBE_BYTES = 1 << 16
_REMEDIES = {
    errno.ENOSPC: "Free space on that disk (it may also have too many files), or choose another folder.",
    errno.EDQUOT: "You are over your quota there: remove files, or choose another folder.",
    errno.EFBIG: "The size of files is limited (ulimit -f): raise the limit.",
    errno.EROFS: "That disk is read-only: choose another folder.",
}


class PendingFile:
    """A file under a temporary name in the folder of `path`, whose name it takes on `commit`.

    For writers that are open for long; the functions below are contexts. A temporary file that is still there when the
    object is deleted, or when the process ends, is removed.

    Attributes:
        path: the final name.
        temporary: the name while it is written.
    """

    def __init__(self, path: str | os.PathLike[str], label: str = "") -> None:
        """`label` becomes part of the temporary name, for instance to find the writer."""
        self.path = Path(path)
        parts = (self.path.name, label, secrets.token_hex(8))
        self.temporary = self.path.with_name(f".{'.'.join(filter(None, parts))}{SUFFIX}")
        self._cleanup = weakref.finalize(self, _remove, self.temporary, os.getpid())

    def create(self, permissions: int | None = None) -> BinaryIO:
        """Create the temporary file, with exactly these permission bits if they are given.

        Raises:
            OSError: it cannot be created.
        """
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self.temporary, flags, 0o666 if permissions is None else permissions)
        if permissions is not None and hasattr(os, "fchmod"):
            os.fchmod(descriptor, permissions)  # whatever the umask says
        return os.fdopen(descriptor, "wb")

    def commit(self) -> None:
        """Flush the closed file to disk and give it its final name."""
        with open(self.temporary, "rb+") as file:
            os.fsync(file.fileno())
        self.publish()

    def publish(self, replace: bool = True) -> None:
        """Give a file that is on disk its final name.

        Raises:
            FileExistsError: there is one and `replace` is False.
        """
        if replace:
            os.replace(self.temporary, self.path)
        else:
            self._link()
        flush_directory(self.path.parent)

    def discard(self) -> None:
        """Remove the temporary file, if it is still there."""
        self._cleanup()

    def explained(self, problem: Exception) -> Exception:
        """The exception to raise for what went wrong while the file was written.

        An OSError names the final file. Libraries have exceptions of their own for a full disk: if this very file
        cannot grow any more, that is the cause.
        """
        if isinstance(problem, OSError) and problem.errno is not None:
            if named_file(problem) in ("", str(self.temporary)):
                return OSError(problem.errno, os.strerror(problem.errno), str(self.path))
            return problem
        try:
            with open(self.temporary, "ab") as file:
                file.write(bytes(_PROBE_BYTES))
                file.flush()
                os.fsync(file.fileno())
        except OSError as cause:
            return OSError(cause.errno, cause.strerror or str(cause), str(self.path))
        return problem

    def _link(self) -> None:
        try:
            os.link(self.temporary, self.path)  # unlike a rename, fails if another process was faster
        except FileExistsError:
            raise
        except (OSError, AttributeError, NotImplementedError):
            # A file system without hard links. Two processes that get here at once: the last one wins.
            if self.path.exists():
                raise FileExistsError(self.path) from None
            os.replace(self.temporary, self.path)


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:  # not in a forked one, which has the object as well
        with contextlib.suppress(OSError):
            path.unlink()


@contextlib.contextmanager
def atomic_open_binary(
    path: Path, *, permissions: int | None = None, replace: bool = True, parents: bool = True
) -> Iterator[BinaryIO]:
    """A binary file that gets the name `path` when the context ends without an error.

    Args:
        path: the final name.
        permissions: exact permission bits; otherwise those of any new file.
        replace: whether it may replace a file.
        parents: make missing folders.

    Raises:
        FileExistsError: there is one and `replace` is False.
        OSError: it cannot be written; the old file stays and no temporary file is left.
    """
    if parents:
        path.parent.mkdir(parents=True, exist_ok=True)
    pending = PendingFile(path)
    try:
        with pending.create(permissions) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name != "nt":  # while it is open, so that a lock on it holds until it has its name
                pending.publish(replace)
        if os.name == "nt":  # there, an open file cannot be renamed
            pending.publish(replace)
    except OSError as problem:
        raise pending.explained(problem) from problem.__cause__
    finally:
        pending.discard()


@contextlib.contextmanager
def atomic_open(path: Path, *, permissions: int | None = None) -> Iterator[TextIO]:
    """The same for a text file: UTF-8, lines that end in a line feed."""
    with atomic_open_binary(path, permissions=permissions) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        try:
            yield text
        finally:
            text.detach()


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A path to write a file at, for libraries that open it themselves; see `atomic_open_binary`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pending = PendingFile(path)
    try:
        yield pending.temporary
        pending.commit()
    except Exception as problem:
        explained = pending.explained(problem)
        if explained is problem:
            raise
        raise explained from problem
    finally:
        pending.discard()


def write_text_atomically(path: Path, text: str, *, permissions: int | None = None) -> None:
    """Write a text file; see `atomic_open`."""
    with atomic_open(path, permissions=permissions) as file:
        file.write(text)


def cannot_write(path: str | os.PathLike[str], problem: OSError) -> str:
    """What to tell the user: the file, the cause, and what to do."""
    remedy = _REMEDIES.get(problem.errno or 0, "Choose another folder, or make this one writable.")
    return f"{path} cannot be written: {problem.strerror or problem}. {remedy}"


def disk_problem(problem: OSError) -> str | None:
    """The same for an error of any kind, if it comes from a disk that takes no more; else None."""
    named = named_file(problem)
    return cannot_write(named, problem) if named and problem.errno in _REMEDIES else None


def named_file(problem: OSError) -> str:
    """The file that an error names; "" if it names none."""
    name = problem.filename
    return os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else ""


def write_problem(folder: Path) -> str | None:
    """Why nothing can be written to `folder` (or made where it is missing), or None. Nothing of the try remains."""
    there = next((place for place in (folder, *folder.parents) if os.path.lexists(place)), folder)
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(bytes(4096))  # a full disk may still have room for a name
    except OSError as problem:
        return problem.strerror or str(problem)
    return None


def flush_directory(folder: Path) -> None:
    """Flush a folder, so that a new name in it survives a crash; where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
