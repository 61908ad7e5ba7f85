"""The command: settings, modes, and what it prints and leaves."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from cosmoflow.config import config_names, keys, load
from cosmoflow.data import SampleFiles
from cosmoflow.main import help_text, main
from cosmoflow.settings import Config, ConfigError


@pytest.mark.parametrize("name", ["demo", "gc64", "mlperf128", "mlperf128_ipu", "v1"])
def test_the_published_configurations_load(name: str) -> None:
    assert name in config_names()
    config = load(name, [])
    assert config.network.variant == name.removesuffix("_ipu")
    assert config.variant.parameters
    again = yaml.safe_load(config.as_yaml())
    assert again["train"]["epochs"] == config.train.epochs


def test_mlperf_settings_are_those_of_the_reference() -> None:
    config = load("mlperf128", [])
    assert (config.train.target, config.train.momentum, config.train.rate, config.train.rate_batch) == (
        0.124,
        0.9,
        0.001,
        64,
    )
    assert (config.train.decay_epochs, config.train.decay_factors) == ([32, 64], [0.25, 0.125])
    assert (config.device.batch, config.train.warmup, config.variant.dropout) == (4, 4, 0.5)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("train.epoch=3", "did you mean train.epochs"),
        ("epochs=3", "did you mean train.epochs"),
        ("mode=trian", "did you mean train"),
        ("network.variant=gc46", "did you mean gc64"),
        ("train.epochs=many", "should be int"),
        ("train.epochs=2.5", "should be int"),
        ("train.epochs=true", "should be int"),
        ("train.epochs=0", "must be greater than 0"),
        ("train.rate=nan", "should be float"),
        ("train.resume=1", "should be bool"),
        ("device.ipus=2", "give 3 or more"),
        ("data.low=[1,2]", "needs four entries"),
        ("network.size=8", "too small"),
        ("verbose", "not of the form key=value"),
    ],
)
def test_wrong_settings_are_refused(word: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 2
    assert message in capsys.readouterr().err


def test_values_have_their_types() -> None:
    config = load(
        "gc64", ["train.rate=1e-3", "train.decay_epochs=[1, 2.5]", "data.train=/a/b", "train.target="]
    )
    assert config.train.rate == 0.001
    assert config.train.decay_epochs == [1.0, 2.5]
    assert config.data.train == "/a/b"
    assert config.train.target is None


def test_a_file_of_ones_own_is_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(load("demo", ["seed=7"]).as_yaml())
    assert load(str(path), []) == load("demo", ["seed=7"])
    path.write_text("train: {epoch: 3}")
    with pytest.raises(ConfigError, match=r"train\.epochs"):
        load(str(path), [])
    path.write_text("!!python/object/apply:os.getcwd []")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(str(path), [])


def test_help_names_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert text == help_text()
    assert all(key in text and meaning for key, (_, meaning, _) in keys(Config()).items())
    assert main(["--config-name=gc46"]) == 2
    assert "did you mean gc64?" in capsys.readouterr().err


def test_training_then_inference_leaves_a_report(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "mode=inference"]) == 2
    assert "train one with mode=train" in capsys.readouterr().err
    assert main([*words, "train.epochs=3", "inference.after_training=true"]) == 0
    out = capsys.readouterr().out
    assert "validation after epoch 3.00: MAE" in out
    assert re.search(r"growth +\d\.\d{4} ± \d\.\d{4}", out)
    run = tmp_path / "run"
    names = {
        "config.yaml",
        "history.csv",
        "predictions.csv",
        "scores.json",
        "report.html",
        "truth.png",
        "residuals.png",
    }
    assert names <= {path.name for path in run.iterdir()}
    assert load(str(run / "config.yaml"), []).train.epochs == 3
    assert len((run / "predictions.csv").read_text().splitlines()) == 25
    before = np.loadtxt(run / "predictions.csv", delimiter=",", skiprows=1)
    # another batch, which does not divide the samples: the same predictions, each once
    assert main([*words, "mode=inference", "inference.batch=7"]) == 0
    after = np.loadtxt(run / "predictions.csv", delimiter=",", skiprows=1)
    assert after[:, 0].tolist() == list(range(24))
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_bad_files_are_told_in_one_line(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.h5").write_text("nothing")
    assert main([*words, f"data.train={tmp_path / 'bad.h5'}"]) == 1
    assert (
        capsys.readouterr().err
        == f"cosmoflow: {tmp_path / 'bad.h5'}: is not an HDF5 file, or lost its beginning.\n"
    )
    assert main([*words, "data.train="]) == 2
    assert "give data.train=" in capsys.readouterr().err


def test_throughput_prints_the_lines_of_the_original(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [
        "mode=throughput",
        "data.source=dummy",
        "throughput.loops=2",
        "throughput.iterations=3",
        "device.replicas=2",
    ]
    assert main([*words, *settings]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Compiling and Warmup...\nDuration: ")
    assert len(re.findall(r"^\d+\.\d+ sec/itr\.$", out, re.M)) == 2
    table = re.search(r"^Iteration, Batches/Second, Samples/Second\n3, ([\d.]+), ([\d.]+)\n6, ", out, re.M)
    assert table
    assert float(table[2]) == pytest.approx(8 * float(table[1]), rel=0.01)
    assert re.search(
        r"^Took [\d.]+ minutes, i\.e\. [\d.]+ samples per second for batch-size 4 and no\. IPUs = 2$",
        out,
        re.M,
    )
    assert "measured on this host" in out
    assert re.search(r"^Modelled, not measured, for .*: [\d,]+ samples/s", out, re.M)


def test_the_data_benchmark_prints_the_lines_of_the_original(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "mode=data-benchmark", "throughput.loops=2", "throughput.samples=24"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Epoch, Bandwidth(GB/s), Samples/Second"
    assert re.fullmatch(r"0, \d+\.\d+, \d+\.\d+", lines[1])
    assert re.fullmatch(r"1, \d+\.\d+, \d+\.\d+", lines[2])
    assert lines[3].startswith("Measured on this host")


def test_generate_writes_parts_that_do_not_overlap(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [*words, "generate.train=6", "generate.validation=3", "generate.test=3"]
    assert main([*settings, "mode=generate"]) == 0
    paths = sorted((tmp_path / "run" / "data").iterdir())
    assert [path.name.split("-")[0] for path in paths] == ["test", "train", "validation"]
    seen = {
        sample[0].tobytes()
        for path in paths
        for sample in map(SampleFiles(path).read, range(len(SampleFiles(path))))
    }
    assert len(seen) == 12
    assert main([*settings, "mode=generate"]) == 0
    assert capsys.readouterr().out.count("is there already") == 3
    assert main([*settings, "data.source=generated", "device.batch=3", "train.epochs=1"]) == 0
    assert sorted((tmp_path / "run" / "data").iterdir()) == paths


@pytest.mark.parametrize(
    "text", ["network: " + "[" * 5000, "a: &a [1]\nb: *a", "a: \x1b[2J", "a: 2023-99-99"]
)
def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"mine\.yaml cannot be read as a configuration"):
        load(str(path), [])
    with pytest.raises(ConfigError, match="cannot be understood"):
        load("demo", [f"train.rate={'[' * 5000}"])
