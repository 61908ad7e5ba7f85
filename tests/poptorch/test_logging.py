"""The logger of PopTorch's Python half and the functions that set levels."""

from __future__ import annotations

import logging

import pytest

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
