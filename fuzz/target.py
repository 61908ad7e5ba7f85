"""What a fuzz target is: a kind of file, or a kind of event."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """One kind of file.

    Attributes:
        name: as on the command line.
        make: writes valid files into a folder and returns them.
        mutate: the bytes of a hostile file, from those of a valid one.
        read: reads a file as the product does; what it prints is shown to nobody.
        refusals: the exceptions that `read` may raise.
        guarded: tensors lie between pages that cannot be touched.
        batch: cases in one process.
    """

    name: str
    make: Callable[[Path], list[Path]]
    mutate: Callable[[bytes, random.Random], bytes]
    read: Callable[[Path], object]
    refusals: Callable[[], tuple[type[BaseException], ...]]
    guarded: bool = False
    batch: int = 100
    #: whether the text of a refusal names the file
    names_file: bool = True


@dataclass(frozen=True)
class Events:
    """One kind of event at random moments: a kill, an interrupt.

    Attributes:
        name: as on the command line.
        make: writes what the cases need into a folder.
        begin: prepares a process for cases, in a folder; gives the function that tries one. It takes the number of the
            case and a generator, and returns the sort of event. An AssertionError is a wrong result.
        batch: cases in one process.
        seconds: the most that one case may take.
    """

    name: str
    make: Callable[[Path], object]
    begin: Callable[[Path], Callable[[int, random.Random], str]]
    batch: int = 50
    seconds: int = 180
    guarded = False


class LeftBehindError(Exception):
    """Processes are there that should have ended."""
