"""Weights of TensorFlow and Keras: files in their layouts are read and written; what is wrong in them is told."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from cosmoflow import checkpoints
from cosmoflow.exchange.bundles import Bundle, write_bundle
from cosmoflow.exchange.checksums import crc32c
from cosmoflow.exchange.layers import BadWeights, places
from cosmoflow.exchange.tables import BadTable, read_table, table
from cosmoflow.exchange.weights import export_weights, import_weights, read_weights
from cosmoflow.main import main
from cosmoflow.model import logarithms
from cosmoflow.network import VARIANTS, CosmoFlow
from hypothesis import given
from hypothesis import strategies as st
from tests.apps.cosmoflow.test_network import KERAS, keras_shapes, recipe_counts, recipe_weights

TINY = dataclasses.replace(VARIANTS["demo"], size=8, conv_size=4, layers=2)
SETTINGS = ["--config-name=demo", "network.size=8", "network.conv_size=4", "network.layers=2"]
NAMES = ["w.h5", "w.weights.h5", "model.ckpt-9"]


def keras_names(layers: int) -> list[str]:
    """Names of the arrays in a file of Keras 2."""
    counted = [
        f"{kind}_{i}" if i else kind for kind, n in (("conv3d", layers), ("dense", 3)) for i in range(n)
    ]
    return [f"{name}/{name}/{part}:0" for name, part in itertools.product(counted, ("kernel", "bias"))]


def keras_file(path: Path, arrays: list[np.ndarray], layers: int, group: str = "") -> Path:
    """A file as Keras 2 lays it out."""
    with h5py.File(path, "w") as file:
        for name, array in zip(keras_names(layers), arrays, strict=True):
            file[group + name] = array
    return path


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A checkpoint of a tiny network with random weights and biases."""
    source = keras_file(tmp_path / "source.h5", recipe_weights(keras_shapes(TINY)), TINY.layers)
    import_weights(source, tmp_path / "ours.pt", TINY)
    return tmp_path / "ours.pt"


@pytest.fixture
def checkpoint(ours: Path, tmp_path: Path) -> Path:
    """A checkpoint in TensorFlow's format."""
    export_weights(ours, tmp_path / "model.ckpt-9")
    return tmp_path / "model.ckpt-9"


@pytest.mark.parametrize("name", ["gc64", "v1"])
def test_a_file_of_keras_gives_the_predictions_of_keras(name: str, tmp_path: Path) -> None:
    side, _, expected = KERAS[name]
    variant = dataclasses.replace(VARIANTS[name], size=side)
    source = keras_file(tmp_path / "model.h5", recipe_weights(keras_shapes(variant)), 5, "model_weights/")
    import_weights(source, tmp_path / "ours.pt", variant)
    network = CosmoFlow(variant).eval()
    network.load_state_dict(checkpoints.load(tmp_path / "ours.pt")["network"])
    with torch.no_grad():
        found = network(logarithms(torch.from_numpy(recipe_counts(side)), torch.float32))
    np.testing.assert_allclose(found.numpy()[0], expected, atol=3e-6)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_back_bit_by_bit(name: str, ours: Path, tmp_path: Path) -> None:
    export_weights(ours, tmp_path / name)
    for found, expected in zip(
        read_weights(tmp_path / name, TINY), recipe_weights(keras_shapes(TINY)), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_optimizers_metrics_and_scopes_do_not_matter(tmp_path: Path) -> None:
    arrays = recipe_weights(keras_shapes(TINY))
    named = {f"MainGraph/{place.name}": array for place, array in zip(places(TINY), arrays, strict=True)}
    slots = {f"{name}/Momentum": array for name, array in named.items()}
    write_bundle(tmp_path / "model", {**named, **slots, "global_step": np.array(4)})
    path = keras_file(tmp_path / "model.h5", arrays, TINY.layers, "model_weights/")
    with h5py.File(path, "a") as file:
        for name, array in zip(keras_names(TINY.layers), arrays, strict=True):
            file[f"optimizer_weights/Adam/m/{name}"] = array
    for source in (tmp_path / "model", path):
        for found, expected in zip(read_weights(source, TINY), arrays, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_layers_are_ordered_by_their_numbers_not_their_letters(tmp_path: Path) -> None:
    variant = dataclasses.replace(TINY, size=4096, conv_size=2, layers=12, doubling=False)
    arrays = recipe_weights(keras_shapes(variant))
    renamed = {
        place.name.replace("conv3d", "conv3d_0").replace("conv3d_0_", "conv3d_"): array
        for place, array in zip(places(variant), arrays, strict=True)
    }
    write_bundle(tmp_path / "model", renamed)
    for found, expected in zip(read_weights(tmp_path / "model", variant), arrays, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_command_exchanges_weights_and_inference_takes_them(
    words: list[str], ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in NAMES:
        target = tmp_path / "out" / name
        assert main(["weights", "export", str(ours), str(target)]) == 0
        assert main(["weights", "import", str(target), "--output", str(tmp_path / "b.pt"), *SETTINGS]) == 0
        assert "17,232 weights" in capsys.readouterr().out
    assert not list(tmp_path.rglob("*.part"))
    chosen = ["mode=inference", f"inference.checkpoint={tmp_path / 'b.pt'}"]
    assert main(["--config-name=gc64", *words, *chosen]) == 0
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["import", "none.h5", "--output", "x.pt"], 1, "none.h5: there is no such file"),
        (["import", "none", "--output", "x.pt"], 1, "neither a file of Keras"),
        (["import", "none.index", "--output", "x.pt"], 1, "there is no such checkpoint"),
        (["export", "none.pt", "x.h5"], 1, "no such checkpoint"),
        (["import", "a.h5", "--output", "x.pt", "train.epochs=3"], 2, "has no meaning here"),
        (["import", "a.h5", "--output", "x.pt", "network.sise=3"], 2, "did you mean network.size"),
        (["export", "a.pt", "b.h5", "more"], 2, "unrecognized"),
        (["import", "a.h5"], 2, "--output"),
        ([], 2, "COMMAND"),
    ],
)
def test_mistakes_are_told_and_leave_nothing(
    arguments: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["weights", *arguments]) == code
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_network_of_another_size_is_refused(ours: Path, checkpoint: Path, tmp_path: Path) -> None:
    export_weights(ours, tmp_path / "w.h5")
    for path in (tmp_path / "w.h5", checkpoint):
        with pytest.raises(
            BadWeights, match=r"conv3d/.*kernel.* has the shape \[2, 2, 2, 4, 4\].*\[2, 2, 2, 4, 6\]"
        ):
            read_weights(path, dataclasses.replace(TINY, conv_size=6))
        with pytest.raises(
            BadWeights, match=r"has 2 layers of 3D convolutions.*the network has 1 convolutions"
        ):
            read_weights(path, dataclasses.replace(TINY, layers=1))


def change_h5(path: Path, action: Callable[[Any], None]) -> Path:
    keras_file(path, recipe_weights(keras_shapes(TINY)), TINY.layers)
    with h5py.File(path, "a") as file:
        action(file)
    return path


def _link(file: Any) -> None:
    del file["dense/dense/bias:0"]
    file["dense/dense/bias:0"] = h5py.ExternalLink("/etc/passwd", "/")


def _infinite(file: Any) -> None:
    file["dense/dense/bias:0"][3] = np.inf


def _whole_numbers(file: Any) -> None:
    del file["dense/dense/bias:0"]
    file["dense/dense/bias:0"] = np.zeros(128, np.int32)


def _twice(file: Any) -> None:
    file["other/dense/bias:0"] = np.zeros(128, np.float32)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (_link, "9 arrays in all"),
        (_infinite, "dense/bias: has values that are not finite"),
        (_whole_numbers, "dense/dense/bias:0: has the shape .* and the type int32"),
        (_twice, "is there twice"),
    ],
)
def test_files_of_keras_that_cannot_be_right_are_refused(action: Any, message: str, tmp_path: Path) -> None:
    path = change_h5(tmp_path / "w.h5", action)
    with pytest.raises(BadWeights, match=message) as told:
        read_weights(path, TINY)
    assert str(path) in str(told.value)


def test_damaged_checkpoints_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    index, data = (Path(f"{checkpoint}{end}") for end in (".index", ".data-00000-of-00001"))
    whole_index, whole_data = index.read_bytes(), data.read_bytes()

    def refused(message: str) -> None:
        with pytest.raises(BadWeights, match=message):
            read_weights(checkpoint, TINY)
        index.write_bytes(whole_index)
        data.write_bytes(whole_data)

    data.write_bytes(whole_data[:9000] + bytes([whole_data[9000] ^ 1]) + whole_data[9001:])
    refused("the checksum is wrong")
    data.write_bytes(whole_data[:-100])
    refused("cut off")
    index.write_bytes(whole_index[:40] + b"\xff" + whole_index[41:])
    refused("the checksum of the block at byte 0 is wrong")
    index.write_bytes(whole_index[:-1])
    refused("damaged or no checkpoint of TensorFlow")
    data.unlink()
    refused("the file is missing")


def test_a_folder_names_its_newest_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(BadWeights, match="checkpoint: cannot be read"):
        read_weights(tmp_path, TINY)
    (tmp_path / "checkpoint").write_text(
        'model_checkpoint_path: "/elsewhere/model.ckpt-9"\n', encoding="utf-8"
    )
    assert Bundle(tmp_path).prefix == checkpoint
    moved = tmp_path / "moved"
    moved.mkdir()
    for path in tmp_path.glob("model.ckpt*"):
        shutil.copy(path, moved)
    shutil.copy(tmp_path / "checkpoint", moved)
    assert len(read_weights(moved, TINY)) == 10


def test_checksums_are_those_of_the_standard() -> None:
    # from RFC 3720, B.4, and a bit by bit computation
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    data = np.random.default_rng(0).bytes(9001)
    crc = 0xFFFFFFFF
    for octet in data:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    assert crc32c(data) == crc ^ 0xFFFFFFFF


@given(st.dictionaries(st.binary(max_size=40), st.binary(max_size=300), min_size=1, max_size=20))
def test_tables_come_back_as_they_were(entries: dict[bytes, bytes]) -> None:
    assert read_table(table(entries)) == entries


@given(st.binary(max_size=200), st.integers(0, 300), st.integers(0, 255))
def test_damaged_tables_are_refused_or_unchanged(value: bytes, place: int, octet: int) -> None:
    data = bytearray(table({b"a": value, b"ab": b"x"}))
    data[place % len(data)] = octet
    try:
        found = read_table(bytes(data))
    except BadTable:
        return
    # the footer has unused bytes
    assert found == {b"a": value, b"ab": b"x"}
