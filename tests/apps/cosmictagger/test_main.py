"""The command: what it shows, and that every mistake is one line with an exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from cosmictagger.config import load
from cosmictagger.main import main
from cosmictagger.running import run_folder

TINY = ["data.wires=32", "data.ticks=32", "data.downsample=0", "data.events=4", "data.aux_events=2"]
TINY += ["network=demo", "network.depth=1", "network.n_initial_filters=2", "network.bottleneck_deepest=2"]
TINY += ["run.compute_mode=CPU", "run.iterations=2"]


def failed(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == code
    error = capsys.readouterr().err
    assert error.startswith("cosmictagger: ")
    assert error.count("\n") == 1
    return error


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == main(["-h"]) == 0
    assert "run.compute_mode" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("cosmictagger ")


def test_cfg_shows_what_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config-name=demo", "run.iterations=77", "--cfg"]) == 0
    assert "iterations: 77" in capsys.readouterr().out


def test_mistakes_of_the_command_line_give_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Did you mean run.iterations?" in failed(capsys, 2, "run.iteration=3")
    assert "Did you mean --config-name?" in failed(capsys, 2, "--config-nam=demo")
    assert "needs a name" in failed(capsys, 2, "--config-name")
    assert "Did you mean demo?" in failed(capsys, 2, "--config-name=dem")


def test_what_cannot_work_is_told_before_it_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    output = f"output_dir={tmp_path}"
    assert "GPU" in failed(capsys, 2, *TINY, output, "run.compute_mode=GPU")
    assert "cannot be halved 6 times" in failed(capsys, 2, *TINY, output, "network.depth=6")
    assert "too few" in failed(capsys, 2, *TINY, output, "run.minibatch_size=5")
    assert "multiple" in failed(
        capsys, 2, *TINY, output, "run.compute_mode=IPU", "run.iterations=3", "run.device_iterations=2"
    )
    assert "no checkpoint" in failed(capsys, 2, *TINY, output, "mode=inference")


def test_too_few_ipus_are_one_line_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "1")
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")
    settings = [
        *TINY,
        f"output_dir={tmp_path}",
        "run.compute_mode=IPU",
        "run.replicas=2",
        "run.minibatch_size=1",
    ]
    assert "IPU" in failed(capsys, 1, *settings, "run.aux_iterations=0", "mode.summary_iteration=0")


def test_missing_and_broken_data_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    settings = [
        *(each for each in TINY if not each.startswith("data.")),
        "data=real",
        f"output_dir={tmp_path}",
    ]
    where = f"data.data_directory={tmp_path}"
    assert "There is no file" in failed(capsys, 2, *settings, where, "data.file=none.h5")
    (tmp_path / "bad.h5").write_bytes(b"no HDF5 at all")
    error = failed(capsys, 1, *settings, where, "data.file=bad.h5", "data.aux_file=")
    assert "bad.h5" in error


def test_real_files_train_with_a_part_held_out(small_file: Path, tmp_path: Path) -> None:
    settings = [each for each in TINY if not each.startswith("data.")]
    code = main(
        [
            *settings,
            "data=real",
            f"data.data_directory={small_file.parent}",
            f"data.file={small_file.name}",
            "data.aux_file=",
            "data.downsample=2",
            "run.aux_iterations=1",
            "mode.no_summary_images=true",
            f"output_dir={tmp_path}",
        ]
    )
    assert code == 0
    provenance = (tmp_path / "torch" / "demo" / "run" / "provenance.json").read_text()
    assert small_file.name in provenance
    assert "sha256_of_first_mebibyte" in provenance


def test_a_checkpoint_of_another_network_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings = [*TINY, f"output_dir={tmp_path}", "mode.summary_iteration=0", "run.aux_iterations=0"]
    assert main(settings) == 0
    error = failed(capsys, 1, *settings, "network.bottleneck_deepest=4")
    assert "network.bottleneck_deepest is 2 there and 4 here" in error
    assert "another run.id" in failed(capsys, 2, *settings, "run.resume=false")
    assert "mode.optimizer.name=adam" in failed(capsys, 2, *settings, "mode.optimizer.name=sgd")
    path = tmp_path / "torch" / "demo" / "run" / "checkpoints" / "model-2.safetensors"
    path.write_bytes(b"")
    assert "No checkpoint of this run can be read" in failed(capsys, 2, *settings)


def test_iotest_says_how_fast(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([*TINY, f"output_dir={tmp_path}", "mode=iotest"]) == 0
    assert "Average Image IO Throughput" in capsys.readouterr().out


def test_the_folder_of_a_run_has_no_date_in_it() -> None:
    assert run_folder(load("a21", ["run.id=x", "output_dir=o"])) == Path("o/torch/a21/x")
