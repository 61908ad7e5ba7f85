"""Lines of a file, plain or gzip, with bounded memory whatever is in it.

Compression is told by the first bytes, not by the name. A line that never ends is cut, and a gzip file that breaks off
gives what can be read of it.
"""

from __future__ import annotations

import contextlib
import gzip
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tremula.formatting import plain

#: bytes of a line beyond which the rest of it is left out
LONGEST_LINE = 64 * 1024
_CHUNK = 1 << 20


class BadLog(ValueError):
    """A log that cannot be read, in words for the user."""


@dataclass
class Ending:
    """How the text of a file ended.

    Attributes:
        bytes: of text that were read.
        whole_line: the last line had its end.
        problem: what broke the reading off, else "".
    """

    bytes: int = 0
    whole_line: bool = True
    problem: str = ""


def lines(file: BinaryIO, ending: Ending) -> Iterator[list[bytes]]:
    """The lines of a file without their ends, many at a time. `ending` is right once they are all taken."""
    rest, skipping = b"", False
    while True:
        try:
            # not read(): that loses what comes before a break
            chunk = file.read1(_CHUNK)  # type: ignore[attr-defined]
        except (EOFError, OSError, zlib.error) as error:
            ending.problem = f"reading broke off: {error}"
            chunk = b""
        if not chunk:
            break
        ending.bytes += len(chunk)
        found = chunk.split(b"\n")
        if skipping:
            if len(found) == 1:
                continue
            del found[0]
            skipping = False
        else:
            found[0] = rest + found[0]
        rest = found.pop()
        if len(rest) > LONGEST_LINE:
            found.append(rest[:LONGEST_LINE])
            rest, skipping = b"", True
        yield found
    ending.whole_line = not rest and not skipping
    if rest:
        yield [rest]


@contextlib.contextmanager
def opened(path: Path | None) -> Iterator[BinaryIO]:
    """A log, unpacked if it is packed; None is stdin.

    Raises:
        BadLog: it cannot be opened.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = sys.stdin.buffer if path is None else stack.enter_context(open(path, "rb"))
            packed = file.peek(2)[:2] == b"\x1f\x8b"  # type: ignore[attr-defined]
        except (OSError, ValueError) as error:
            raise BadLog(
                f"{name_of(path)} cannot be read: {getattr(error, 'strerror', None) or error}."
            ) from error
        # GzipFile leaves a file open that it was given
        yield gzip.GzipFile(fileobj=file, mode="rb") if packed else file  # type: ignore[misc]


def name_of(path: Path | None) -> str:
    """What a log is called in messages: a name may hold anything, and terminals obey escapes."""
    return "standard input" if path is None else plain(str(path), lines=False)
