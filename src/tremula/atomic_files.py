"""Files that are there whole or not at all: written beside their place, flushed to disk, renamed."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A text file that takes the place of `path` when the context ends well; else what was there stays.

    Raises:
        OSError: it cannot be written; nothing is left behind.
    """
    with whole_path(path) as draft, open(draft, "x", encoding="utf-8", newline="\n") as file:
        yield file


@contextlib.contextmanager
def whole_path(path: Path) -> Iterator[Path]:
    """A path to write a file at, for libraries that open it themselves; see `whole_file`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield draft
        with open(draft, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    flush_folder(path.parent)


def whole_text(path: Path, text: str) -> None:
    """Write a text file whole; see `whole_file`."""
    with whole_file(path) as file:
        file.write(text)


def flush_folder(folder: Path) -> None:
    """Make the new name durable, where the system lets a folder be flushed."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
