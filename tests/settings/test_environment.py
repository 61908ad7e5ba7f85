"""The table of environment variables: what is read, when, and what is said of a bad value."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tremula
from tremula.errors import Error
from tremula.settings import VARIABLES, Environment, env
from tremula.settings.values import (
    BadValueError,
    TraceOptions,
    parse_count,
    parse_flag,
    parse_trace_options,
)

SOURCES = Path(tremula.__file__).parent.parent


def reading(**values: str) -> Environment:
    return Environment(VARIABLES, values)


def test_names_are_unique_and_every_row_is_complete():
    assert len({variable.name for variable in VARIABLES}) == len(VARIABLES)
    for variable in VARIABLES:
        assert variable.meaning.endswith("."), variable.name
        assert variable.effect.startswith(("honoured", "recorded", "no effect: ")), variable.name


def test_every_variable_of_ours_that_the_sources_name_is_declared():
    named = set()
    for source in SOURCES.rglob("*.py"):
        named |= set(re.findall(r"[\"'](TREMULA_[A-Z_]+)[\"']", source.read_text(encoding="utf-8")))
    assert named <= {variable.name for variable in VARIABLES}


def test_defaults_when_unset_or_empty():
    assert reading().get("POPTORCH_IPU_MODEL") is False
    assert reading(POPTORCH_IPU_MODEL="").get("POPTORCH_IPU_MODEL") is False
    assert reading().get("TREMULA_VIRTUAL_IPUS") is None
    assert reading().get("TREMULA_SUMMARY") is None
    assert reading().get("POPLAR_LOG_LEVEL") == "OFF"
    assert not reading(POPTORCH_CACHE_DIR="").is_set("POPTORCH_CACHE_DIR")


def test_a_default_that_is_handed_out_cannot_be_spoiled():
    reading().get("POPTORCH_DEFAULT_OPTIONS")["x"] = 1
    assert reading().get("POPTORCH_DEFAULT_OPTIONS") == {}


def test_the_process_environment_is_read_at_the_call(monkeypatch):
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "4")
    assert env.get("TREMULA_VIRTUAL_IPUS") == 4
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "16")
    assert env.get("TREMULA_VIRTUAL_IPUS") == 16


def test_an_undeclared_variable_is_a_mistake_of_ours():
    with pytest.raises(KeyError):
        env.get("TREMULA_TYPO")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("POPTORCH_IPU_MODEL", "maybe"),
        ("TREMULA_VIRTUAL_IPUS", "-1"),
        ("TREMULA_VIRTUAL_IPUS", "four"),
        ("POPTORCH_IPU_MODEL_VERSION", "ipu3"),
        ("POPART_LOG_LEVEL", "LOUD"),
        ("POPLAR_ENGINE_OPTIONS", "{autoReport.all: true}"),
        ("POPLAR_ENGINE_OPTIONS", "[1]"),
        ("POPTORCH_DEFAULT_OPTIONS", "3"),
    ],
)
def test_a_bad_value_is_an_error_that_names_the_variable(name, value):
    with pytest.raises(Error, match=name):
        reading(**{name: value}).get(name)


def test_engine_options_come_back_as_text():
    text = '{"autoReport.all": true, "opt.maxCopyMergeSize": 8388608, "autoReport.directory": "/tmp/x"}'
    assert reading(POPLAR_ENGINE_OPTIONS=text).get("POPLAR_ENGINE_OPTIONS") == {
        "autoReport.all": "true",
        "opt.maxCopyMergeSize": "8388608",
        "autoReport.directory": "/tmp/x",
    }


def test_an_unknown_engine_option_is_refused_with_the_nearest_name():
    with pytest.raises(Error, match=r"autoReport\.al in POPLAR_ENGINE_OPTIONS.*Did you mean autoReport\.all"):
        reading(POPLAR_ENGINE_OPTIONS='{"autoReport.al": "true"}').get("POPLAR_ENGINE_OPTIONS")


def test_trace_options_that_cannot_be_read_switch_tracing_on():
    assert parse_trace_options("yes please") == TraceOptions()
    assert parse_trace_options('{"enable": "false", "directory": "d", "channels": ["a"]}') == TraceOptions(
        enable=False, directory="d", channels=("a",)
    )


@given(st.integers(min_value=-(10**6), max_value=10**6))
def test_numbers_read_as_c_does(number):
    assert parse_flag(str(number)) is (number != 0)
    if number >= 0:
        assert parse_count(f" {number} ") == number
    else:
        with pytest.raises(BadValueError):
            parse_count(str(number))
