"""Questions about ONNX files: inference, training with a named loss, dimensions that are open, no weights read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tremula import ask
from tremula.ask.onnx_files import is_onnx_file, onnx_file
from tremula.cli.main import main
from tremula.errors import Error

from .models import node, proto, value


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    """A file whose weights are said to be in a file of zeros beside it."""
    model = proto(
        [
            node("Gemm", ["x", "w1"], ["h"], name="/body/Gemm"),
            node("Relu", ["h"], ["r"], name="/body/Relu"),
            node("Gemm", ["r", "w2"], ["logits"], name="/head/Gemm"),
        ],
        [value("x", ["batch", 8])],
        ["logits"],
        {"w1": np.zeros((8, 16), np.float32), "w2": np.zeros((16, 4), np.float32)},
    )
    at = 0
    for weight in model.graph.initializer:
        size = len(weight.raw_data)
        weight.ClearField("raw_data")
        weight.data_location = onnx.TensorProto.EXTERNAL
        for key, text in (("location", "w.bin"), ("offset", str(at)), ("length", str(size))):
            weight.external_data.add(key=key, value=text)
        at += size
    (tmp_path / "w.bin").write_bytes(bytes(at))
    path = tmp_path / "classifier.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_an_estimate_needs_no_weights(classifier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: object) -> bytearray:
        raise AssertionError("a weight was read")

    monkeypatch.setattr("tremula.frontends.onnx.external_data.Place.read", refuse)
    model = onnx_file(classifier)
    assert (model.name, model.training, model.parameters, model.micro_batch) == ("classifier", False, 192, 1)
    result = ask.estimate(model, micro_batch=32).results[0]
    assert result.fits == "yes"
    assert result.setting["micro_batch"] == 32


def test_a_loss_by_name_makes_it_a_training(classifier: Path) -> None:
    model = onnx_file(classifier, ["loss=cross_entropy", "dimension:batch=6"], optimizer="adam")
    assert model.training
    assert [each.shape for each in model.inputs] == [(6, 8), (6,)]
    assert "ADAM" in model.optimizer.upper()
    result = ask.estimate(model).results[0]
    assert result.problem == ""
    assert {"body", "head"} <= {name.partition(".")[0] for name in result.modules}


def test_what_is_missing_or_wrong_is_said(classifier: Path) -> None:
    with pytest.raises(Error, match="a loss is needed"):
        onnx_file(classifier, training=True)
    with pytest.raises(Error, match="no loss called 'guess'"):
        onnx_file(classifier, ["loss=guess"])
    with pytest.raises(Error, match=r"no dimension called length open; those that are open: batch"):
        onnx_file(classifier, ["dimension:length=3"])
    with pytest.raises(Error, match="'0' is not a positive number"):
        onnx_file(classifier, ["dimension:batch=0"])
    with pytest.raises(Error, match="is not a setting of an ONNX file"):
        onnx_file(classifier, ["batch=3"])


def test_an_output_may_be_the_loss(tmp_path: Path) -> None:
    model = proto(
        [
            node("MatMul", ["x", "w"], ["h"]),
            node("IdentityLoss", ["h"], ["loss"], domain="ai.graphcore", reduction="Mean"),
        ],
        [value("x", [2, 3])],
        ["h", "loss"],
        {"w": np.zeros((3, 3), np.float32)},
    )
    path = tmp_path / "own.onnx"
    path.write_bytes(model.SerializeToString())
    assert onnx_file(path, training=True).training
    assert ask.estimate(onnx_file(path, ["loss=loss"])).results[0].problem == ""


def test_the_command_line_takes_files(classifier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["estimate", str(classifier), "--no-advice", "--loss", "mse", "--dimension", "batch=4"]
    assert main(words) == 0
    assert "classifier: training, 192 parameters" in capsys.readouterr().out
    assert main(["estimate", "model.py:make", "--loss", "mse"]) != 0
    assert "--loss is only for ONNX files" in capsys.readouterr().err
    both = [f"{classifier} --no-advice", f"{classifier} --no-advice --micro-batch 8"]
    assert main(["compare", *both]) == 0
    assert "micro batch" in capsys.readouterr().out


def test_the_profile_of_a_file_is_written_without_running_anything(
    classifier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", str(classifier), "-o", str(tmp_path / "p"), "--loss", "cross_entropy"]) == 0
    assert (tmp_path / "p" / "training" / "profile.pop").is_file()
    assert "modelled" in capsys.readouterr().out
    assert main(["profile", "train.py", "--ipus", "2"]) != 0
    assert "--ipus is only for ONNX files" in capsys.readouterr().err


def test_files_are_known_by_their_names() -> None:
    assert is_onnx_file("a/Model.ONNX")
    assert not is_onnx_file("model.onnx.py")
