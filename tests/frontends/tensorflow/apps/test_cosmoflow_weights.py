"""CosmoFlow in Keras and in PyTorch gives the same predictions from weights that were exchanged through files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch
from cosmoflow import checkpoints
from cosmoflow.exchange.weights import export_weights, import_weights
from cosmoflow.network import VARIANTS, CosmoFlow, Variant

#: of each way to pad and to count channels; what is flattened has several voxels and channels
SIZES = {
    "same, even kernel": dataclasses.replace(VARIANTS["gc64"], size=16, conv_size=3, layers=2),
    "same, odd kernel": dataclasses.replace(VARIANTS["mlperf128"], size=16, conv_size=3, layers=3),
    "valid": dataclasses.replace(VARIANTS["v1"], size=24, conv_size=5, layers=3),
}


def keras_model(variant: Variant) -> Any:
    """The layers of the published model, with weights and biases that are none of the network's own."""
    if tf.executing_eagerly():
        tf.keras.backend.clear_session()
    layers = tf.keras.layers
    model = tf.keras.Sequential([tf.keras.Input((variant.size,) * 3 + (4,))])
    for channels in variant.channels:
        model.add(layers.Conv3D(channels, variant.kernel, padding=variant.padding))
        model.add(layers.LeakyReLU())
        model.add(layers.MaxPool3D(pool_size=2))
    model.add(layers.Flatten())
    for units in (128, 64):
        model.add(layers.Dense(units))
        model.add(layers.LeakyReLU())
        model.add(layers.Dropout(variant.dropout))
    model.add(layers.Dense(4, activation="tanh"))
    model.add(layers.Lambda(lambda x: x * 1.2))
    return model


def randomized(model: Any) -> Any:
    random = np.random.default_rng(5)
    model.set_weights(
        [random.normal(0, 0.1, array.shape).astype(np.float32) for array in model.get_weights()]
    )
    return model


def volumes(variant: Variant) -> np.ndarray:
    return np.random.default_rng(3).random((2,) + (variant.size,) * 3 + (4,), np.float32)


def torch_predictions(checkpoint: Path, variant: Variant) -> np.ndarray:
    network = CosmoFlow(variant).eval()
    network.load_state_dict(checkpoints.load(checkpoint)["network"])
    with torch.no_grad():
        return network(torch.from_numpy(volumes(variant)).permute(0, 4, 1, 2, 3)).numpy()


def in_session(action: Callable[[Any, Any, Any], Any], variant: Variant) -> Any:
    """Calls the action with a model in a graph, as the published program makes it, a saver and a session.

    Returns:
        The result of the action, and the predictions of the model after it.
    """
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.keras.backend.set_session(session)
        tf.compat.v1.train.create_global_step()
        model = keras_model(variant)
        inputs = tf.constant(volumes(variant))
        outputs = model(inputs, training=False)
        session.run(tf.compat.v1.global_variables_initializer())
        result = action(model, tf.compat.v1.train.Saver(), session)
        return result, session.run(outputs)


def write(kind: str, variant: Variant, folder: Path) -> tuple[Path, np.ndarray]:
    """A file as TensorFlow writes it, and the predictions of its model."""
    if kind == "Saver":

        def save(model: Any, saver: Any, session: Any) -> Path:
            randomized(model)
            return Path(saver.save(session, str(folder / "model.ckpt"), 7))

        return in_session(save, variant)
    model = randomized(keras_model(variant))
    expected = model(volumes(variant), training=False).numpy()
    if kind == "estimator's folder":
        path, _ = write("Saver", variant, folder)
        return path.parent, expected
    path = folder / kind
    if kind == "whole model.h5":
        model.compile("adam", "mse")
        model.fit(volumes(variant), np.zeros([2, 4]), verbose=0)
        expected = model(volumes(variant), training=False).numpy()
        model.save(path)
    elif kind == "objects":
        return Path(tf.train.Checkpoint(model=model).save(str(path))), expected
    else:
        model.save_weights(path)
    return path, expected


KINDS = ["w.h5", "w.weights.h5", "whole model.h5", "w", "objects", "Saver", "estimator's folder"]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_the_network_predicts_what_the_keras_model_did(kind: str, size: str, tmp_path: Path) -> None:
    variant = SIZES[size]
    path, expected = write(kind, variant, tmp_path)
    import_weights(path, tmp_path / "ours.pt", variant)
    np.testing.assert_allclose(torch_predictions(tmp_path / "ours.pt", variant), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["out.h5", "out.weights.h5", "model.ckpt-3"])
@pytest.mark.parametrize("size", SIZES)
def test_the_keras_model_predicts_what_the_network_did(name: str, size: str, tmp_path: Path) -> None:
    variant = SIZES[size]
    torch.manual_seed(1)
    # weights with biases: the network's own are zero at first
    source, _ = write("w.h5", variant, tmp_path)
    import_weights(source, tmp_path / "ours.pt", variant)
    expected = torch_predictions(tmp_path / "ours.pt", variant)
    export_weights(tmp_path / "ours.pt", tmp_path / name)
    if name.endswith(".h5"):
        model = keras_model(variant)
        model.load_weights(tmp_path / name)
        found = model(volumes(variant), training=False).numpy()
    else:

        def restore(model: Any, saver: Any, session: Any) -> None:
            saver.restore(session, str(tmp_path / name))

        _, found = in_session(restore, variant)
    np.testing.assert_allclose(found, expected, atol=1e-5)
