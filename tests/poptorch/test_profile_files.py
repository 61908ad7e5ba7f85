"""Options that ask for a profile get one, where the real stack puts it, and never at the program's cost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import poptorch
from tremula import log
from tremula.errors import Error
from tremula.profile import Profile


class Net(torch.nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.first = torch.nn.Linear(16, width)
        self.second = torch.nn.Linear(width, 4)

    def forward(self, x, target=None):
        out = self.second(torch.relu(self.first(x)))
        if target is None:
            return out
        return out, torch.nn.functional.mse_loss(out, target)


@pytest.fixture(autouse=True)
def fresh_log(monkeypatch):
    log.forget_once()
    monkeypatch.delenv("POPLAR_ENGINE_OPTIONS", raising=False)
    monkeypatch.delenv("TREMULA_CHIP_MODEL", raising=False)


def infer(options, width=32):
    return poptorch.inferenceModel(Net(width), options)(torch.randn(2, 16))


def train(options):
    model = Net()
    wrapped = poptorch.trainingModel(model, options, poptorch.optim.SGD(model.parameters(), lr=0.1))
    return wrapped(torch.randn(2, 16), torch.randn(2, 4))


def test_training_and_inference_have_folders_of_their_own(tmp_path):
    infer(poptorch.Options().enableProfiling(str(tmp_path)))
    train(poptorch.Options().enableProfiling(str(tmp_path)))
    assert sorted(path.parent.name for path in tmp_path.rglob("profile.pop")) == ["inference", "training"]
    with Profile(tmp_path / "training" / "profile.pop") as profile:
        assert {op.phase for op in profile.ops} == {"forward", "backward", "update"}
        assert {op.module for op in profile.ops} >= {"first", "second"}


def test_the_models_name_is_the_folder(tmp_path):
    infer(poptorch.Options().enableProfiling(str(tmp_path)).modelName("tower"))
    assert (tmp_path / "tower" / "profile.pop").is_file()
    infer(poptorch.Options().enableProfiling(str(tmp_path / "in")).modelName("../../out"))
    assert [path.parent.parent for path in tmp_path.rglob("profile.pop") if path.parent.name != "tower"] == [
        tmp_path / "in"
    ]


def test_the_environment_wins(tmp_path, monkeypatch):
    wanted = {"autoReport.all": "true", "autoReport.directory": str(tmp_path / "env")}
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps(wanted))
    infer(poptorch.Options())
    infer(poptorch.Options().enableProfiling(str(tmp_path / "options")).modelName("second"))
    assert sorted(path.parent.name for path in (tmp_path / "env").rglob("profile.pop")) == [
        "inference",
        "second",
    ]
    assert not (tmp_path / "options").exists()
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps({"autoReport.all": "false"}))
    infer(poptorch.Options().enableProfiling(str(tmp_path / "options")))
    assert not (tmp_path / "options").exists()


def test_parts_are_chosen_by_their_options(tmp_path, monkeypatch):
    options = poptorch.Options()
    options._Popart.setEngineOptions(
        {"autoReport.outputGraphProfile": "true", "autoReport.directory": str(tmp_path)}
    )
    infer(options)
    with Profile(tmp_path / "inference" / "profile.pop") as profile:
        assert profile.ipus
        assert not profile.breakdown


def test_runs_are_kept_as_often_as_asked_for(tmp_path):
    for asked, kept in ((None, 2), ("5", 5), ("0", 0), ("1000", 10)):
        options = poptorch.Options().enableProfiling(str(tmp_path))
        if asked is not None:
            engine = options._Popart.options["engineOptions"]
            options._Popart.setEngineOptions({**engine, "autoReport.executionProfileProgramRunCount": asked})
        infer(options)
        with Profile(tmp_path / "inference" / "profile.pop") as profile:
            assert [run.kind for run in profile.runs] == ["upload", *["step"] * kept]


def test_the_front_end_says_what_it_was_asked_for(tmp_path):
    infer(poptorch.Options().enableProfiling(str(tmp_path)).randomSeed(7))
    with Profile(tmp_path / "inference" / "profile.pop") as profile:
        said = profile.application["framework"]
        assert said["frontEnd"] == "poptorch"
        assert said["versions"]["torch"] == torch.__version__
        assert said["options"]["seed"] == 7
        assert set(profile.frame("contexts").column("layer")) == {"poptorch"}
        files = profile.frame("contexts").column("file")
        assert any(file.endswith("test_profile_files.py") for file in files)


def test_without_a_wish_there_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    infer(poptorch.Options())
    assert list(tmp_path.iterdir()) == []


def test_a_profile_that_cannot_be_written_is_told_and_the_program_runs(tmp_path, capfd):
    (tmp_path / "file").write_text("in the way")
    assert infer(poptorch.Options().enableProfiling(str(tmp_path / "file"))).shape == (2, 4)
    told = capfd.readouterr().err
    assert "No profile: " in told
    assert "cannot be written" in told


def test_a_fault_of_the_recorder_does_not_stop_the_program(tmp_path, monkeypatch, capfd):
    import tremula.recording

    def fail(*_args, **_settings):
        raise ZeroDivisionError("inside")

    monkeypatch.setattr(tremula.recording, "write_profile", fail)
    assert infer(poptorch.Options().enableProfiling(str(tmp_path))).shape == (2, 4)
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_without_the_chip_model_there_is_no_profile(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")
    infer(poptorch.Options().enableProfiling(str(tmp_path)))
    assert not list(tmp_path.rglob("profile.pop"))
    assert "TREMULA_CHIP_MODEL=off" in capfd.readouterr().err


@pytest.mark.parametrize("refused", [False, True])
def test_a_program_that_does_not_fit_has_a_profile_and_is_told_where(tmp_path, monkeypatch, capfd, refused):
    monkeypatch.delenv("TREMULA_SYSTEM", raising=False)
    monkeypatch.delenv("POPTORCH_IPU_MODEL", raising=False)
    monkeypatch.setenv("POPTORCH_SMALL_IPU_MODEL", "1")
    monkeypatch.setenv("TREMULA_OUT_OF_MEMORY", "error" if refused else "warn")
    options = poptorch.Options().enableProfiling(str(tmp_path))
    path = Path(tmp_path) / "inference" / "profile.pop"
    wide = poptorch.inferenceModel(Net(60_000), options)
    if refused:
        with pytest.raises(Error, match=str(path)):
            wide.compile(torch.randn(1, 16))
    else:
        wide.compile(torch.randn(1, 16))
        assert str(path) in capfd.readouterr().err
    with Profile(path) as profile:
        assert profile.ipus[0].tiles_out_of_memory > 0


def test_options_without_effect_say_so(tmp_path, capfd):
    options = poptorch.Options().enableProfiling(str(tmp_path))
    engine = dict(options._Popart.options["engineOptions"])
    options._Popart.setEngineOptions({**engine, "autoReport.outputSerializedGraph": "true"})
    infer(options)
    told = capfd.readouterr().err
    assert "autoReport.outputSerializedGraph has no effect here" in told
    assert "autoReport.all has no effect" not in told
