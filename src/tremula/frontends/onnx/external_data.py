"""Data of tensors in files beside the model, read when it is asked for.

A location is a name inside the model's folder: absolute paths, `..` and links that lead out of the folder are refused.
Bytes are read and not mapped: a file that is cut short while it is used gives an error, not a dead process.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from tremula.errors import Error


@dataclass(frozen=True)
class Place:
    """Where the bytes of a tensor are: part of a file, and what the file was like when the model was read."""

    path: Path
    offset: int
    length: int
    #: device, inode, size, time of the last change
    identity: tuple[int, int, int, int]

    def read(self) -> bytearray:
        """The bytes.

        Raises:
            Error: the file is gone, or is not what it was.
        """
        buffer = bytearray(self.length)
        try:
            with open(self.path, "rb", buffering=0) as file:
                if _identity(os.fstat(file.fileno())) != self.identity:
                    raise Error(f"{self.path} has changed since the model was read.")
                file.seek(self.offset)
                view = memoryview(buffer)
                while len(view):
                    count = file.readinto(view)
                    if not count:
                        raise Error(f"{self.path} has become shorter since the model was read.")
                    view = view[count:]
        except OSError as problem:
            raise Error(f"{self.path} cannot be read: {problem.strerror}.") from problem
        return buffer


#: files that this process has written tensors to: models may name them, wherever they are
_written: set[Path] = set()


def trust(path: Path) -> None:
    """This process wrote the file: models that it makes may have their data there."""
    _written.add(path.absolute())


def is_trusted(location: str) -> bool:
    """Whether this process wrote the file at `location`."""
    return bool(location) and "\0" not in location and Path(location).absolute() in _written


def find(folder: Path | None, location: str, offset: int, length: int | None, size: int) -> Place:
    """The place of a tensor of `size` bytes that is at `location` of `folder`, the model's own.

    Raises:
        Error: the location leads elsewhere, or the file does not hold the tensor.
    """
    trusted = is_trusted(location)
    if folder is None and not trusted:
        raise Error(f"its data is in the file '{location}', but a model given as bytes has no folder.")
    path = Path(location) if folder is None or trusted else _inside(folder, location)
    try:
        status = os.stat(path)
    except OSError as problem:
        raise Error(f"its data is in {path}, which cannot be read: {problem.strerror}.") from problem
    if not stat.S_ISREG(status.st_mode):
        raise Error(f"its data is in {path}, which is not a regular file.")
    if length is None:
        length = size
    if length != size:
        raise Error(f"its data in '{location}' has {length:,} bytes, but its type and shape need {size:,}.")
    if offset < 0 or offset + length > status.st_size:
        raise Error(
            f"its data is at bytes {offset:,} to {offset + length:,} of '{location}', which has {status.st_size:,}."
        )
    return Place(path, offset, length, _identity(status))


def _inside(folder: Path, location: str) -> Path:
    """The path of `location`, which must be inside `folder`, links followed."""
    parts = PurePosixPath(location).parts
    elsewhere = (
        not location
        or "\0" in location
        or "\\" in location
        or PurePosixPath(location).is_absolute()
        or bool(PureWindowsPath(location).drive)
        or ".." in parts
    )
    if elsewhere:
        raise Error(f"its data is at '{location}': only files inside the model's folder are read.")
    root = folder.resolve()
    try:
        path = (root / location).resolve()
    except (OSError, RuntimeError) as problem:  # a loop of links
        raise Error(f"its data is at '{location}', which cannot be followed: {problem}.") from problem
    if not path.is_relative_to(root):
        raise Error(
            f"its data is at '{location}', a link out of the model's folder: only files inside it are read. Put the "
            "file itself there."
        )
    return path


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
