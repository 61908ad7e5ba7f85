"""`cosmictagger scale`: a study of a configuration in one command, which touches nothing but its own folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from cosmictagger import scaling
from cosmictagger.config import load
from cosmictagger.main import main

from tremula.scale.document import read
from tremula.scale.row import ScalingStudy

#: modelled in moments
TINY = [
    "data.wires=64",
    "data.ticks=32",
    "data.downsample=1",
    "network.depth=1",
    "network.n_initial_filters=2",
]
TINY += ["network.bottleneck_deepest=2", "network.blocks_deepest_layer=1", "network.blocks_final=0"]
QUICK = ["--config-name=demo", "--ipus", "1,2", "--stages", "1", "--target", "mk2", "--no-plots"]
EVENTS = "events-64-64x32-0-None.h5"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    capsys.readouterr()
    assert main(["scale", *words]) == code
    error = capsys.readouterr().err
    assert error.startswith("cosmictagger: ")
    assert error.count("\n") == 1
    return error


def figures(study: ScalingStudy) -> list[tuple[str, int, float]]:
    return [(row.mode, row.ipus, row.figures["throughput"].value) for row in study.rows]


def test_a_configuration_is_modelled_in_one_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", *QUICK, "--no-measure", *TINY, "output_dir=mine", "run.compute_mode=CPU"]) == 0
    out = capsys.readouterr().out
    assert "CosmicTagger demo: training" in out
    assert "modelled" in out
    assert "Dumping launch arguments" not in out  # what the program says is in its log
    assert [path.name for path in folder.iterdir()] == ["scale-demo"]
    assert {path.name for path in (folder / "scale-demo").iterdir()} == {
        "program.log", "run", "scale.csv", "scale.html", "scale.json",
    }  # fmt: skip
    study = read(folder / "scale-demo" / "scale.json")
    assert study.name == "CosmicTagger demo"
    assert study.training
    assert [(mode, ipus) for mode, ipus, _ in figures(study)] == [
        ("weak", 1), ("weak", 2), ("strong", 1), ("strong", 2),
    ]  # fmt: skip
    assert (study.data, study.measured) == (None, None)


def test_what_is_measured_reads_events_from_a_file_that_is_written_once(
    folder: Path, measured: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["scale", *QUICK, "--mode=weak", "--out", "here", *TINY]
    assert main(words) == 0
    study = read(folder / "here" / "scale.json")
    assert study.data is not None
    assert study.data.origin == "measured"
    assert study.data.samples_per_second > 0
    (run,) = measured
    assert f"data.file={EVENTS}" in run
    assert not any(word.startswith(("data.wires", "data.ticks")) for word in run)
    assert run[-1] == "data.downsample=3"
    events = folder / "here" / EVENTS
    written = events.stat().st_mtime_ns
    assert main(words) == 0
    assert events.stat().st_mtime_ns == written
    assert [path.name for path in (folder / "here").glob("*.h5")] == [EVENTS]
    # the same model, whether its events are in a file or not: nothing is modelled anew
    monkeypatch.setattr("tremula.scale.layouts.Layouts.tried", None)
    assert main([*words, "--per-ipu=1", "--no-measure"]) == 0
    assert figures(read(folder / "here" / "scale.json")) == figures(study)


def test_real_files_are_used_as_they_are(folder: Path, small_file: Path, measured: list[list[str]]) -> None:
    data = ["data=real", f"data.data_directory={small_file.parent}", f"data.file={small_file.name}"]
    network = [word for word in TINY if word.startswith("network")]
    words = [
        "scale",
        *QUICK,
        "--mode=weak",
        "--out",
        "here",
        *data,
        "data.aux_file=",
        "data.downsample=2",
        *network,
    ]
    assert main([*words, "run.minibatch_size=1"]) == 0
    (run,) = measured
    assert set(data) <= set(run)
    assert run[-1] == "data.downsample=3"  # 256 x 160 pixels can be halved three times, and twice more
    assert not list((folder / "here").glob("*.h5"))


def test_enough_events_are_written_for_large_calls_in_a_folder_of_any_name(
    folder: Path, measured: list[list[str]]
) -> None:
    place = folder / "a b, [c] #1"
    large = ["run.minibatch_size=4", "mode.optimizer.gradient_accumulation=5", "--mode=weak"]
    assert main(["scale", *QUICK, "--out", str(place), "--name", "mine", *TINY, *large]) == 0
    assert read(place / "scale.json").name == "mine"
    (path,) = place.glob("*.h5")
    assert path.name == "events-120-64x32-0-None.h5"


def test_mistakes_are_one_line_and_nothing_is_made(
    folder: Path, small_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "one of training" in refused(capsys, 2, *QUICK, "mode=inference")
    assert "no option --nothing" in refused(capsys, 2, *QUICK, "--nothing")
    assert "Did you mean demo?" in refused(capsys, 2, "--config-name=dem")
    assert "Did you mean data.wires?" in refused(capsys, 2, *QUICK, "data.wire=64")
    assert "cannot be halved" in refused(capsys, 2, *QUICK, *TINY, "network.depth=6")
    assert "There is no file" in refused(capsys, 2, *QUICK, "data=real", "data.file=none.h5")
    assert "mode must be one of weak, strong" in refused(capsys, 1, *QUICK, "--mode=weakly")
    assert "nowhere" in refused(capsys, 1, *QUICK, "--target=nowhere")
    assert "--measure-with" in refused(capsys, 1, *QUICK, "--measure-with='")
    assert "--loader-rate" in refused(capsys, 1, *QUICK, "--loader-rate=nan")
    assert main(["scale", "--ipus", "many"]) == 2
    assert "not a list of whole numbers" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_what_is_in_the_way_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "file").write_text("")
    words = [*QUICK, *TINY, "--out=file"]
    assert "file" in refused(capsys, 1, *words)
    assert "--out" in refused(capsys, 1, *words, "--no-measure")
    (folder / "bad.h5").write_text("no HDF5")
    real = ["data=real", f"data.data_directory={folder}", "data.file=bad.h5", "data.aux_file="]
    assert "bad.h5" in refused(capsys, 1, *QUICK, *real)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([], "data.downsample=3"),  # 160 x 256 pixels, halved three times by a21's depth of five
        (["data.downsample=3"], ""),
        (["network.depth=7"], "data.downsample=1"),
        (["data.wires=64", "data.ticks=64", "network.depth=4"], "data.downsample=2"),
        (["data.wires=48", "data.ticks=48", "network.depth=4"], ""),
    ],
)
def test_measured_images_are_as_coarse_as_the_network_takes(changes: list[str], words: str) -> None:
    config = load("a21_ipu", ["data.downsample=0", "network.depth=5", *changes])
    assert scaling._smaller(config) == words


@pytest.mark.slow
def test_two_processes_train_what_one_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", *QUICK, "--brief", *TINY]) == 0
    assert "2 processes together train like one process" in capsys.readouterr().out
    study = read(folder / "scale-demo" / "scale.json")
    assert study.measured is not None
    assert study.measured.problems == ()
    assert study.measured.program == "data.downsample=3"
    assert [run.equivalent for run in study.measured.runs] == [None, True]
