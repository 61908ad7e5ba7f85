"""A target that does every kind of harm, one kind in each case."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from fuzz.target import Events


def begin(folder: Path) -> Callable[[int, random.Random], str]:
    """The number of the case says which."""

    def attempt(number: int, rng: random.Random) -> str:
        if number == 0:
            raise AssertionError("not the result")
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 2:
            (folder.parent / f"{folder.name}-outside").touch()
        if number == 3:
            subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL)
        return "harmless"

    return attempt


HARMFUL = Events("harmful", lambda folder: None, begin)
