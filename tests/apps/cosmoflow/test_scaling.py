"""`cosmoflow scale`: a study of a configuration in one command, which touches nothing but its own folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from cosmoflow import scaling
from cosmoflow.config import load
from cosmoflow.main import main

from tremula.scale.document import read

#: modelled in moments
TINY = ["network.size=8", "network.conv_size=4", "network.layers=2", "device.batch=2", "data.augment=false"]
QUICK = ["--config-name=demo", "--ipus", "1,2", "--stages", "1", "--target", "mk2", "--no-plots"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    capsys.readouterr()
    assert main(["scale", *words]) == code
    error = capsys.readouterr().err
    assert error.startswith("cosmoflow: ")
    assert error.count("\n") == 1
    return error


def test_a_configuration_is_studied_in_one_command(
    folder: Path, measured: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["scale", *QUICK, *TINY, "output=mine"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "CosmoFlow demo: training" in out
    assert "modelled" in out
    assert [path.name for path in folder.iterdir()] == ["scale-demo"]
    assert {path.name for path in (folder / "scale-demo").iterdir()} == {
        "program.log", "run", "scale.csv", "scale.html", "scale.json",
    }  # fmt: skip
    study = read(folder / "scale-demo" / "scale.json")
    assert study.name == "CosmoFlow demo"
    assert [(row.mode, row.ipus) for row in study.rows] == [
        ("weak", 1), ("weak", 2), ("strong", 1), ("strong", 2),
    ]  # fmt: skip
    assert study.data is not None
    assert study.data.origin == "measured"
    (run,) = measured
    assert run[-2:] == ["network.dropout=0", "device.memory_proportion="]  # it is small enough as it is
    samples = {path: path.stat().st_mtime_ns for path in (folder / "scale-demo" / "run" / "data").iterdir()}
    assert len(samples) == 2
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in samples} == samples
    assert read(folder / "scale-demo" / "scale.json").rows[0].basis == study.rows[0].basis


def test_files_are_used_as_they_are(folder: Path, small_file: Path, measured: list[list[str]]) -> None:
    files = ["data.source=files", f"data.train={small_file}", f"data.validation={small_file}"]
    assert main(["scale", *QUICK, "--mode=weak", *TINY, *files]) == 0
    (run,) = measured
    assert set(files) <= set(run)
    assert not (folder / "scale-demo" / "run" / "data").exists()


def test_what_is_measured_is_small_unless_files_say_how_large_it_is() -> None:
    always = "network.dropout=0 device.memory_proportion="
    assert scaling._smaller(load("mlperf128_ipu", [])) == f"{always} network.size=32 network.layers=3"
    assert scaling._smaller(load("mlperf128_ipu", ["network.layers=2"])).endswith("network.layers=2")
    assert scaling._smaller(load("mlperf128_ipu", ["data.train=/some"])) == always
    assert scaling._smaller(load("demo", [])) == always


def test_enough_samples_are_made_for_large_calls(folder: Path) -> None:
    config = load("demo", ["device.batch=16", "device.accumulation=3"])
    assert "generate.train=192" in scaling._samples(config, folder, 2)
    assert "generate.train=16" in scaling._samples(load("demo", ["device.batch=1"]), folder, 2)


def test_mistakes_are_one_line_and_nothing_is_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "one of training" in refused(capsys, 2, *QUICK, "mode=inference")
    assert "no option --nothing" in refused(capsys, 2, *QUICK, "--nothing")
    assert "did you mean gc64?" in refused(capsys, 2, "--config-name=gc46")
    assert "did you mean train.epochs" in refused(capsys, 2, *QUICK, "train.epoch=3")
    assert "mode must be one of weak, strong" in refused(capsys, 1, *QUICK, "--mode=weakly")
    assert "--loader-rate" in refused(capsys, 1, *QUICK, "--loader-rate=0")
    assert list(folder.iterdir()) == []
    (folder / "file").write_text("")
    assert "--out" in refused(capsys, 1, *QUICK, *TINY, "--out=file")


@pytest.mark.slow
def test_two_processes_train_what_one_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", *QUICK, "--brief", *TINY, "network.dropout=0.2"]) == 0
    assert "2 processes together train like one process" in capsys.readouterr().out
    study = read(folder / "scale-demo" / "scale.json")
    assert study.measured is not None
    assert study.measured.problems == ()
    assert [run.equivalent for run in study.measured.runs] == [None, True]
