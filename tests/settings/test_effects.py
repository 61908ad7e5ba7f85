"""The tables do not claim too much or too little: what is honoured is read, what has no effect is not."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import tremula
from tremula.settings import VARIABLES
from tremula.settings.engine_options import ENGINE_OPTIONS
from tremula.settings.popart_options import HONOURED, OPTIONS

SOURCES = Path(tremula.__file__).parent.parent
#: handled where they are validated, read under the name of a property, or built from parts
READ_ELSEWHERE = {
    "engineOptions",
    "num_distributed_processes",
    "distributed_process_id",
    "automaticLossScalingSettings.updatePeriod",
    "automaticLossScalingSettings.thresholdUpperCountProportion",
    "automaticLossScalingSettings.binEdgeLocation",
}


@cache
def sources() -> str:
    """Everything that could act on a setting: all but the tables, the option classes and their form in files.

    The libraries of Poplar have options of their own, some with the same names.
    """
    files = [
        path
        for path in SOURCES.rglob("*.py")
        if "settings" not in path.parent.name
        and "poplar/libs" not in path.as_posix()
        and not path.name.startswith(
            ("options", "_options", "_session_options", "_patterns", "_executable_data")
        )
    ]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def is_quoted(name: str) -> bool:
    return re.search(rf"[\"']{re.escape(name)}[\"']", sources()) is not None


def is_used(name: str) -> bool:
    return is_quoted(name) or re.search(rf"\.{re.escape(name)}\b", sources()) is not None


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_options_of_the_popart_layer(option):
    if option.effect == HONOURED:
        assert is_used(option.name) or option.name in READ_ELSEWHERE
    elif option.effect.startswith("no effect"):
        assert not is_quoted(option.name), f"{option.name} is read: say in the table what it does"


@pytest.mark.parametrize("option", ENGINE_OPTIONS, ids=lambda option: option.name)
def test_engine_options(option):
    if option.effect == HONOURED:
        assert is_quoted(option.name)
    elif option.effect.startswith("no effect"):
        assert not is_quoted(option.name), f"{option.name} is read: say in the table what it does"


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable.name)
def test_variables(variable):
    if variable.reader in ("tremula.log", "poptorch.Options", "popart.SessionOptions"):
        return  # their names are built from the group's, or read in the option classes
    if variable.effect == HONOURED:
        assert is_quoted(variable.name) or variable.name == "POPLAR_ENGINE_OPTIONS"
    elif variable.effect.startswith("no effect"):
        assert not is_quoted(variable.name), f"{variable.name} is read: say in the table what it does"
