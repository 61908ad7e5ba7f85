"""Validation of the options of the PopART layer, and the lines that it logs."""

from __future__ import annotations

import pytest
import torch

from poptorch.poptorch_core import _validateOptions
from tremula import log
from tremula.errors import Error
from tremula.settings.popart_options import (
    BOOL,
    CONTAINER,
    DOUBLE,
    OPTIONS,
    STRING,
    UINT,
    is_default,
    validate,
)

SAMPLES = {BOOL: True, UINT: 0, DOUBLE: 1.5, STRING: "x", CONTAINER: ["0", "1"]}


@pytest.fixture
def debug_level():
    with log.levels_restored():
        log.set_level("poptorch", "DEBUG")
        yield


def test_the_table_has_each_name_once():
    names = [option.name for option in OPTIONS]
    assert len(set(names)) == len(names)
    assert len(names) > 120


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_each_option_takes_its_own_type_and_no_other(option):
    if option.name not in ("engineOptions", "patterns"):
        validate({option.name: SAMPLES[option.kind]})
    for kind, sample in SAMPLES.items():
        if kind != option.kind:
            with pytest.raises(Error, match=option.name):
                validate({option.name: sample})


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.size], ids=lambda option: option.name)
def test_enumerations_end_where_they_end(option):
    validate({option.name: option.size - 1})
    with pytest.raises(Error, match="out of range"):
        validate({option.name: option.size})


def test_an_unknown_option_is_refused_with_the_nearest_name():
    with pytest.raises(
        Error, match=r"Unknown bool option enableOutlinin\. Did you mean enableOutlining"
    ) as caught:
        validate({"enableOutlinin": True})
    assert caught.value.type == "poptorch_cpp_error"


def test_a_value_of_no_type_at_all():
    with pytest.raises(Error, match="Unknown value type Tensor for option dotChecks"):
        validate({"dotChecks": torch.empty(1, 1)})


@pytest.mark.parametrize(
    "options",
    [
        {"defaultBufferingDepth": -1},
        {"hardwareInstrumentations": {2}},
        {"accumulateOuterFragmentSettings.excludedVirtualGraphs": ["first"]},
        {"patterns": {"PadSum": True}},
        {"patterns": {"PadSum": True}, "patterns_level": 4},
        {"patterns": {"PadSum": 1}, "patterns_level": 2},
        {"location_weight": {"onchip": 1}},
        {"location_weight": 1},
        {"engineOptions": {"autoReport.every": "true"}},
    ],
)
def test_what_is_refused(options):
    with pytest.raises(Error):
        validate(options)


def test_every_option_is_logged_when_it_is_read(debug_level, capfd):
    _validateOptions(
        {
            "enableOutlining": True,
            "autoRecomputation": 1,
            "outlineThreshold": 2.5,
            "hardwareInstrumentations": {0, 1},
            "engineOptions": {"debug.allowOutOfMemory": True},
            "gclOptions": {"a": "A"},
            "location_weight": {"onChip": 0},
            "patterns": {"PadSum": True},
            "patterns_level": 0,
            "anchored_tensors": {},
            "compilation_progress_bar_fn": print,
        }
    )
    lines = capfd.readouterr().err
    for line in (
        "poptorch.Options set enableOutlining to value true",
        "poptorch.Options set autoRecomputation to value 1",
        "poptorch.Options set outlineThreshold to value 2.5",
        "poptorch.Options added 0 to hardwareInstrumentations",
        "poptorch.Options added 1 to hardwareInstrumentations",
        "poptorch.Options set engineOptions[debug.allowOutOfMemory] to true",
        "poptorch.Options set gclOptions[a] to A",
    ):
        assert f"[poptorch:cpp] [debug] {line}\n" in lines


def test_what_every_new_options_has_is_no_choice_of_the_user():
    assert is_default("rearrangeAnchorsOnHost", False)
    assert not is_default("rearrangeAnchorsOnHost", True)
    assert not is_default("enableOutlining", True)
