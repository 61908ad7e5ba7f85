"""The bar that shows how far a compilation is."""

from __future__ import annotations

import copy
import datetime
import pickle

from tremula import log
from tremula.device.progress import ProgressBar


def test_a_compilation(capsys):
    bar = ProgressBar()
    assert bar.compilation_time is None
    for step in (0, 40, 100):
        bar(step, 100)
    assert isinstance(bar.compilation_time, datetime.timedelta)
    shown = capsys.readouterr().err
    assert "Graph compilation" in shown
    assert "100/100" in shown
    assert log._line_hooks == []


def test_log_lines_do_not_land_behind_the_bar(capsys):
    bar = ProgressBar()
    bar(0, 10)
    with log.levels_restored():
        log.set_level("poptorch", "WARN")
        log.layer("poptorch:cpp").warning("one")
        log.layer("poptorch:cpp").warning("two")
    bar(10, 10)
    one, two = (line for line in capsys.readouterr().err.split("\n") if "poptorch:cpp" in line)
    assert one.rpartition("\r")[2].startswith("[")
    assert two.startswith("[")


def test_a_compilation_that_broke_off_does_not_spoil_the_next(capsys):
    bar = ProgressBar()
    bar(50, 100)
    bar(0, 100)
    bar(60, 100)
    bar.abandon()
    bar.abandon()
    assert log._line_hooks == []
    bar(30, 100)
    bar(100, 100)
    assert capsys.readouterr().err.count("100/100") == 1


def test_copies_do_not_share_what_is_on_the_screen(capsys):
    bar = ProgressBar()
    bar(50, 100)
    for other in (copy.deepcopy(bar), pickle.loads(pickle.dumps(bar))):  # noqa: S301 (made here)
        other(100, 100)
    bar(100, 100)
    assert log._line_hooks == []
