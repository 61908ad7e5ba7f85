"""Session options: the names of the table and no others, live dictionaries, what is said of those without effect."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest

import popart
import popdist
from tremula.settings import session_options, session_page

PAGE = Path(__file__).parents[2] / "docs" / "popart-options.md"


def test_the_options_are_those_of_the_table() -> None:
    options = popart.SessionOptions()
    assert len(session_options.OPTIONS) == 102
    for row in session_options.OPTIONS:
        assert hasattr(options, row.name)
        assert row.effect.startswith(("honoured", "recorded", "no effect: "))
    assert options.changed() == []


def test_what_is_honoured_is_read_somewhere_and_the_rest_is_not() -> None:
    folder = Path(popart.__file__).parent
    tables = ("_session_options.py", "_typed_fields.py")
    sources = [*folder.glob("*.py"), Path(popdist.__file__).parent / "popart.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources if path.name not in tables)
    wrong = [
        row.name
        for row in session_options.OPTIONS
        if (re.search(rf"\.{row.name}\b", text) is not None) == row.effect.startswith("no effect")
    ]
    assert wrong == []


@pytest.mark.parametrize("name", ["foo", "enableOutlinin", "numIOtiles"])
def test_unknown_options_are_refused(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(popart.SessionOptions(), name, 1)
    with pytest.raises(AttributeError):
        getattr(popart.SessionOptions(), name)
    with pytest.raises(AttributeError):
        setattr(popart.AutomaticLossScalingSettings(), name, 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enablePipelining", 1),
        ("accumulationFactor", 1.5),
        ("cachePath", Path("x")),
        ("virtualGraphMode", 2),
        ("autoRecomputation", popart.RecomputeType.Recompute),
        ("engineOptions", "target.x"),
        ("customCodelets", "one.cpp"),
    ],
)
def test_options_take_values_of_their_type(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=name):
        setattr(popart.SessionOptions(), name, value)


def test_dictionaries_and_groups_are_live() -> None:
    options = popart.SessionOptions()
    options.engineOptions = {"a": "1"}
    options.engineOptions["b"] = "2"
    options.automaticLossScalingSettings.binEdgeLocation = 0.5
    options.activationTensorLocationSettings.location.storage = popart.TensorStorage.OffChip
    options.defaultPrefetchBufferingDepth = 3
    assert options._engineOptions == {"a": "1", "b": "2"}
    assert options.defaultBufferingDepth == 3
    assert set(options.changed()) == {
        "engineOptions",
        "automaticLossScalingSettings",
        "activationTensorLocationSettings",
        "defaultBufferingDepth",
    }
    assert popart.SessionOptions().engineOptions == {}
    assert copy.deepcopy(options) == options


def test_groups_are_made_from_positions_and_names() -> None:
    settings = popart.BatchSerializationSettings(
        4, True, False, True, method=popart.BatchSerializationMethod.Loop
    )
    assert (settings.factor, settings.concatOnExecutionPhaseChange) == (4, False)
    location = popart.TensorLocation(popart.TensorStorage.OffChip, popart.ReplicatedTensorSharding.On)
    assert popart.TensorLocationSettings(location, 0, 0).location.replicatedTensorSharding.name == "On"


def test_the_explicit_graph_is_three_options() -> None:
    options = popart.SessionOptions()
    options.enableExplicitIR(True)
    assert set(options.changed()) == {"explicitRecomputation", "enableExplicitMainLoops", "useHostCopyOps"}


@pytest.mark.parametrize("variable", ["POPART_CACHE_DIR", "POPXL_CACHE_DIR"])
def test_the_cache_folder_of_the_environment_holds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    options = popart.SessionOptions()
    assert options.enableEngineCaching
    assert options.cachePath == str(tmp_path)


def test_what_has_no_effect_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    options = popart.SessionOptions()
    options.decomposeGradSum = True
    options.enableGradientAccumulation = True
    options.automaticLossScalingSettings.toTrackTensors = ["weight"]
    options.automaticLossScalingSettings.updatePeriod = 5
    for _ in range(2):
        options.report()
    said = capsys.readouterr().err
    assert said.count("SessionOptions.decomposeGradSum has no effect here") == 1
    assert said.count("SessionOptions.automaticLossScalingSettings.toTrackTensors has no effect here") == 1
    assert "enableGradientAccumulation" not in said
    assert "updatePeriod" not in said


def test_the_page_in_the_repository_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == session_page.render(), (
        "run: python -m tremula.settings.session_page"
    )


def test_patterns_follow_their_level() -> None:
    assert popart.Patterns().PreUniRepl
    assert not popart.Patterns(popart.PatternsLevel.Minimal).InPlace
    assert popart.Patterns(popart.PatternsLevel.Minimal).MatMulOp
    assert popart.Patterns(popart.PatternsLevel.All).isPatternEnabled("SplitGather")
    assert popart.Patterns(["PostNRepl", "InPlace"]).missing()


def test_patterns_are_switched_and_unknown_ones_refused() -> None:
    patterns = popart.Patterns()
    patterns.SoftMaxGradDirect = False
    assert not patterns.isPatternEnabled("SoftmaxGradDirect")
    assert patterns.enablePattern("OpToIdentity", False).enableRuntimeAsserts(False) is patterns
    assert "OpToIdentity: off" in str(patterns)
    with pytest.raises(popart.popart_exception, match=r"Unknown pattern Inplace, did you mean InPlace\?"):
        popart.Patterns(["Inplace"])
