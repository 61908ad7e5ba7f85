"""The other layers, against stock layers or NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow import keras
from tensorflow.python import ipu

from ipu_tensorflow_addons.keras import layers


def _normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@settings(max_examples=15, deadline=None)
@given(
    groups=st.integers(1, 4),
    members=st.integers(1, 3),
    strided=st.booleans(),
    first=st.booleans(),
    rank=st.integers(2, 4),
)
def test_group_normalization_equals_numpy(
    groups: int, members: int, strided: bool, first: bool, rank: int
) -> None:
    channels = groups * members
    shape = [3, *[2] * (rank - 2), channels]
    x = _normal(*shape) * 2 + 1
    gamma, beta = _normal(channels, seed=1), _normal(channels, seed=2)
    number = np.arange(channels)
    group = number % groups if strided else number // members
    expected = np.empty_like(x)
    for index in range(groups):
        part = x[..., group == index]
        axes = tuple(range(1, rank))
        normal = (part - part.mean(axes, keepdims=True)) / np.sqrt(part.var(axes, keepdims=True) + 1e-3)
        expected[..., group == index] = normal * gamma[group == index] + beta[group == index]
    layer = layers.GroupNormalization(
        groups=groups, channels_axis=1 if first else -1, strided_channel_grouping=strided
    )
    given_x = np.moveaxis(x, -1, 1) if first else x
    layer.build(given_x.shape)
    layer.set_weights([gamma, beta])
    found = layer(given_x).numpy()
    np.testing.assert_allclose(np.moveaxis(found, 1, -1) if first else found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("axis", [-1, [1], [1, 3], (2, 3)])
def test_layer_normalization_equals_that_of_keras(axis: Any) -> None:
    x = _normal(2, 3, 4, 5)
    mine, stock = layers.LayerNormalization(axis=axis), keras.layers.LayerNormalization(axis=axis)
    for layer in (mine, stock):
        layer.build(x.shape)
    mine.set_weights([_normal(*w.shape, seed=i + 1) for i, w in enumerate(mine.get_weights())])
    stock.set_weights(mine.get_weights())
    np.testing.assert_allclose(mine(x), stock(x), rtol=1e-3, atol=1e-5)


def test_instance_normalization_normalises_each_channel() -> None:
    found = layers.InstanceNormalization(center=False, scale=False)(_normal(4, 6, 6, 3) * 3 + 2).numpy()
    np.testing.assert_allclose(found.mean((1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(found.var((1, 2)), 1, rtol=1e-2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.GroupNormalization(groups=3),
        lambda: layers.InstanceNormalization(channels_axis=1),
        lambda: layers.LayerNormalization(axis=[1, 2]),
        lambda: layers.Embedding(4, 2, serialization_factor=2),
        lambda: layers.Dropout(0.3, seed=[1, 2], ref=False),
        lambda: layers.SerialDense(3, 2, "kernel_rows", activation="relu"),
        lambda: layers.Dense(3, kernel_scale=-2),
        lambda: layers.CTCLoss(blank_index=1, from_logits=True),
        lambda: layers.CTCPredictionsLayer(top_paths=2),
        lambda: layers.EffectiveTransformer(3, 2, qkv_activation="relu"),
        lambda: layers.AssumeEqualAcrossReplicas(inplace=True),
        lambda: layers.RecomputationCheckpoint(),
    ],
)
def test_a_layer_from_a_configuration_has_the_same_one(make: Any) -> None:
    layer = make()
    assert type(layer).from_config(layer.get_config()).get_config() == layer.get_config()


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_an_embedding_is_a_table_lookup_and_its_gradient_counts_uses(factor: int) -> None:
    layer = layers.Embedding(4, 3, serialization_factor=factor)
    ids = np.array([[1, 1], [3, 0]])
    with tf.GradientTape() as tape:
        rows = layer(ids)
        loss = tf.reduce_sum(rows)
    np.testing.assert_array_equal(rows, layer.embeddings.numpy()[ids])
    gradient = tf.convert_to_tensor(tape.gradient(loss, layer.embeddings))
    np.testing.assert_array_equal(gradient, [[1] * 3, [2] * 3, [0] * 3, [1] * 3])


def test_an_argument_that_only_the_stock_layer_has_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="mask_zero"):
        layers.Embedding(4, 3, mask_zero=True)
    with pytest.raises(NotImplementedError, match="beta_constraint"):
        layers.LayerNormalization(beta_constraint="non_neg")


@pytest.mark.parametrize("dimension", ["input_columns", "input_rows_kernel_columns", "kernel_rows"])
def test_a_serial_dense_layer_equals_a_dense_one(dimension: str) -> None:
    x = _normal(4, 6)
    mine, stock = (
        layers.SerialDense(8, 2, dimension, activation="tanh"),
        keras.layers.Dense(8, activation="tanh"),
    )
    stock(x)
    mine.build(x.shape)
    mine.set_weights(stock.get_weights())
    np.testing.assert_allclose(mine(x), stock(x), rtol=1e-5, atol=1e-6)


def test_a_wrong_serialization_dimension_names_the_right_ones() -> None:
    with pytest.raises(ValueError, match="kernel_rows"):
        layers.SerialDense(4, 2, "rows")(_normal(2, 2))


def test_a_dense_layer_of_eight_bit_floats_multiplies_what_they_stand_for() -> None:
    metadata = ipu.ops.f8_ops.create_metadata(ipu.ops.f8_ops.Format.F143, 0)
    x = layers.ConvertToF8()(np.array([[0.5, 1.0], [-2.0, 3.0]]), metadata)
    layer = layers.Dense(3, kernel_scale=-4)
    found = layer(x)
    kernel = layers.ConvertFromF8(dtype=tf.float32)(layer.get_weights()[:2]).numpy()
    expected = np.array([[0.5, 1.0], [-2.0, 3.0]]) @ kernel
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    assert found.dtype == tf.float16


def test_predictions_are_the_labels_without_repetitions_and_blanks() -> None:
    path = [1, 1, 0, 2, 2]
    logits = np.full((5, 1, 3), -5.0, np.float32)
    logits[np.arange(5), 0, path] = 5.0
    for paths in (1, 3):
        layer = layers.CTCPredictionsLayer(blank_index=0, beam_width=8, top_paths=paths, from_logits=True)
        np.testing.assert_array_equal(layer(logits, np.array([5], np.int32)), [[1, 2, 0, 0, 0]])


def test_the_ctc_loss_is_the_mean_of_that_of_tensorflow() -> None:
    logits, labels = _normal(6, 2, 4), np.array([[1, 2], [3, 1]], np.int32)
    lengths, times = np.array([2, 1], np.int32), np.array([6, 5], np.int32)
    expected = tf.reduce_mean(tf.nn.ctc_loss(labels, logits, lengths, times, blank_index=0))
    found = layers.CTCLoss(blank_index=0, from_logits=True)(labels, logits, lengths, times)
    np.testing.assert_allclose(found, [expected], rtol=1e-5)


def test_the_effective_transformer_is_attention_with_padding_of_zeros() -> None:
    lengths = np.array([3, 1], np.int32)
    inside = np.arange(3) < lengths[:, None]
    x = np.where(inside, _normal(2, 3), 0)
    layer = layers.EffectiveTransformer(
        4, 2, num_attention_heads=2, attention_head_size=3, layer_norm_output=False
    )
    output, context = layer([x, lengths, x, lengths])
    q, k, v = (
        (x[..., None] @ dense.kernel.numpy() + dense.bias.numpy()).reshape(2, 3, 2, 3)
        * inside[..., None, None]
        for dense in (layer._query, layer._key, layer._value)
    )
    scores = np.einsum("bqhs,bkhs->bhqk", q, k)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    expected = np.einsum("bhqk,bkhs->bqhs", weights, v)
    np.testing.assert_allclose(context, expected, rtol=1e-4, atol=1e-6)
    dense = layer._output_layer
    np.testing.assert_allclose(
        output, expected.reshape(2, -1) @ dense.kernel.numpy() + dense.bias.numpy(), rtol=1e-4, atol=1e-5
    )


def test_a_model_of_these_layers_trains_on_the_device() -> None:
    strategy = ipu.ipu_strategy.IPUStrategy()
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.Input((6,), batch_size=4, dtype=tf.int32),
                layers.Embedding(10, 8),
                layers.LSTM(8, dropout=0.1),
                layers.GroupNorm(groups=2, gamma_initializer="ones", beta_initializer="zeros"),
                layers.Dropout(0.1),
                layers.SerialDense(1, 2, "input_rows_kernel_columns"),
            ]
        )
        model.compile("sgd", "mse", steps_per_execution=4)
        data = np.random.default_rng(0).integers(0, 10, (32, 6)).astype(np.int32)
        labels = data.mean(1, keepdims=True).astype(np.float32)
        losses = model.fit(data, labels, batch_size=4, epochs=4, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
