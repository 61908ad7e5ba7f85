"""Bars: only for somebody who looks, only after two seconds, and nothing of them is left."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import textwrap

import pytest

from tremula.progress import bar

PROGRAM = """
    import time
    from tremula.progress import bar
    with bar("Modelling it") as tell:
        tell("first", 0.25)
        time.sleep({seconds})
"""


def _in_a_terminal(seconds: float) -> str:
    """What the program writes to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM).format(seconds=seconds)],
        stderr=theirs,
        close_fds=True,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        seen += data
    assert process.wait() == 0
    os.close(ours)
    return seen.decode()


def test_what_takes_long_has_a_bar_that_vanishes() -> None:
    seen = _in_a_terminal(4.5)
    assert "Modelling it:  25%" in seen
    assert "first" in seen
    assert seen.rsplit("\r", 1)[-1].strip() == ""


def test_what_is_quick_has_none() -> None:
    assert _in_a_terminal(0.1) == ""


def test_nobody_looks_at_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("Modelling it") as tell:
        tell("first", 0.5)
    assert capsys.readouterr().err == ""


def test_who_wants_to_be_told_is_told_instead() -> None:
    told: list[tuple[str, float]] = []
    with bar("Modelling it", lambda what, share: told.append((what, share))) as tell:
        tell("first", 0.5)
    assert told == [("first", 0.5)]
