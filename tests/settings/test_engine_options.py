"""The table of engine options."""

from __future__ import annotations

import pytest

from tremula.errors import Error
from tremula.settings.engine_options import ENGINE_OPTIONS, known, validate

SAMPLES = {"bool": "true", "int": "3", "float": "2.5", "text": "x", "path": "/tmp/x"}


def test_names_are_unique_and_have_a_family():
    names = [option.name for option in ENGINE_OPTIONS]
    assert len(set(names)) == len(names)
    assert all("." in name for name in names)


@pytest.mark.parametrize("option", ENGINE_OPTIONS, ids=lambda option: option.name)
def test_each_option_takes_every_value_of_its_kind(option):
    for choice in option.kind.split("|"):
        value = SAMPLES.get(choice, choice)
        assert validate({option.name: value}, "here") == {option.name: value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("autoReport.all", "perhaps"),
        ("opt.maxCopyMergeSize", "big"),
        ("streamCallbacks.numWorkerThreads", "some"),
        ("opt.internalExchangeOptimisationTarget", "fast"),
        ("autoReport.directory", None),
        ("autoReport.directory", {"a": 1}),
    ],
)
def test_a_value_of_another_kind_is_refused(name, value):
    with pytest.raises(Error, match=name):
        validate({name: value}, "here")


def test_an_unknown_name_without_neighbour_is_refused_plainly():
    assert known("zzz") is None
    with pytest.raises(Error, match="Unknown engine option zzz in here") as caught:
        validate({"zzz": "1"}, "here")
    assert "Did you mean" not in caught.value.message
