"""The logger of PopTorch's Python half and the functions that set levels."""

from __future__ import annotations

import logging
import re

import pytest
import torch

import poptorch
from poptorch._logging import logger, setLogLevel, setPopartLogLevel
from tremula import log


@pytest.fixture(autouse=True)
def levels():
    before = logger.level
    with log.levels_restored():
        yield
    logger.setLevel(before)


@pytest.mark.parametrize(
    "level", [0, 1, 2, 3, 4, 6, "TRACE", "TRACE_ALL", "DEBUG", "DEBUG_IR", "INFO", "OFF"]
)
def test_levels_that_exist(level):
    setLogLevel(level)


def test_levels_that_do_not():
    with pytest.raises(ValueError, match="Invalid log level integer"):
        setLogLevel(5)
    with pytest.raises(ValueError, match=r"wibble\. Valid values are DEBUG, ERR, INFO, OFF, TRACE and WARN"):
        setLogLevel("wibble")
    for level in (0, "FOO"):
        with pytest.raises(ValueError, match="Level must be one of"):
            setPopartLogLevel(level)


def test_one_call_sets_both_halves(capfd):
    setLogLevel("INFO")
    logger.info("python")
    log.layer("poptorch:cpp").info("cpp")
    logger.debug("hidden")
    err = capfd.readouterr().err
    assert "[poptorch::python] [info] python" in err
    assert "[poptorch:cpp] [info] cpp" in err
    assert "hidden" not in err


def test_records_reach_the_handlers_of_the_program(caplog):
    setLogLevel("DEBUG")
    with caplog.at_level(logging.DEBUG):
        logger.debug("seen")
    assert "seen" in caplog.text


def test_stamps_that_time_a_compilation_come_in_order(capfd):
    setPopartLogLevel("INFO")
    model = poptorch.inferenceModel(
        torch.nn.Linear(2, 2), poptorch.Options().showCompilationProgressBar(False)
    )
    model(torch.zeros(1, 2))
    lines = capfd.readouterr().err.splitlines()
    stamps = ("Popart version:", "Poplar graph initialised", "Starting compilation", "Graph compiled")
    found = [next(i for i, line in enumerate(lines) if stamp in line) for stamp in stamps]
    assert found == sorted(found)
    # the date that programs such as examples-utils read in front of them
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z popart:", lines[i]) for i in found)
