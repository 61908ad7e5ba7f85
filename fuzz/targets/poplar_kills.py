"""SIGKILL of a Poplar program in C++, or of the process beside it, at random moments from the start on.

Whichever is killed, the other one ends, and no process is left. The program records, runs, serves a callback or waits.
"""

from __future__ import annotations

import os
import random
import secrets
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from fuzz import processes
from fuzz.target import Events, LeftBehindError

#: the program, which the tests of ends use as well
_SOURCE = Path(__file__).parents[2] / "tests" / "frontends" / "poplar" / "cpp" / "programs" / "ends.cpp"
_MODES = ("run", "recording", "callback", "idle")
#: from the start to the kill at the latest; a program that is not disturbed runs on
_SECONDS = 1.5
#: the other process ends within a second of an idle machine
_GONE_SECONDS = 20.0


def make(folder: Path) -> None:
    """Compile the libraries and the program."""
    from tremula.frontends.poplar.codelets.cpp import compiler
    from tremula.frontends.poplar.cpp.installation import install

    made = install(folder / "sdk", optimisation="-O0")
    found = compiler.find()
    assert found is not None, "there is no C++ compiler"
    command = [*found.command, "-std=c++11", f"-isystem{made.include}", str(_SOURCE), f"-L{made.lib}"]
    subprocess.run(
        [*command, f"-Wl,-rpath,{made.lib}", "-lpoplar", "-o", str(folder / "program")], check=True
    )


def begin(folder: Path) -> Callable[[int, random.Random], str]:
    """Each case starts the program anew."""
    program = folder / "valid" / "program"

    def attempt(number: int, rng: random.Random) -> str:
        return kill(program, _MODES[number % len(_MODES)], rng)

    return attempt


def kill(program: Path, mode: str, rng: random.Random) -> str:
    """Kill one of the two processes."""
    mark = f"fuzz-{secrets.token_hex(8)}"
    process = subprocess.Popen(
        [program, mode],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "FUZZ_CASE": mark},
    )
    time.sleep(rng.uniform(0, _SECONDS))
    victims = [each for each in processes.marked(mark) if each != process.pid]
    beside = bool(victims) and rng.random() < 0.5
    os.kill(victims[0] if beside else process.pid, signal.SIGKILL)
    try:
        code = process.wait(_GONE_SECONDS)
    except subprocess.TimeoutExpired:
        code = None
    left = processes.left(mark, _GONE_SECONDS)
    if left:
        raise LeftBehindError(f"{'server' if beside else 'program'} killed ({mode}): {'; '.join(left)}")
    assert code is not None, f"the program did not end with its server ({mode})"
    assert code != 0, f"the program ended well although it was disturbed ({mode})"
    return f"{'servers' if beside else 'programs'} ({mode})"


POPLAR_KILLS = Events("poplar_kills", make, begin, batch=64)
