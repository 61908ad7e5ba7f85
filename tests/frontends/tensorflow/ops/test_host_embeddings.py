"""Embeddings whose table is on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.compiler.plugin.poplar.ops import gen_pop_datastream_ops
from tensorflow.python.ipu.ops import embedding_ops

v1 = tf.compat.v1
_ROWS = np.arange(12, dtype=np.float32).reshape(6, 2)


def _embedding(name: str, spec: Any = None) -> Any:
    return embedding_ops.create_host_embedding(
        name, _ROWS.shape, np.float32, optimizer_spec=spec, initializer=_ROWS
    )


def test_rows_are_found_in_eager_mode() -> None:
    embedding = _embedding("eager")
    with embedding.register():
        found = embedding.lookup(tf.constant([[0, 5], [9, -3]]))
    np.testing.assert_array_equal(found, _ROWS[[[0, 5], [5, 0]]])


def test_rows_are_updated_in_functions() -> None:
    embedding = _embedding("function", embedding_ops.HostEmbeddingOptimizerSpec(0.5))

    @tf.function
    def step(ids: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(embedding.lookup(ids) * [1.0, 2.0])
        tape.gradient(loss, embedding.trainable_variables)
        return loss

    with embedding.register():
        step(tf.constant([1, 1, 4]))
        second = step(tf.constant([1]))
    expected = _ROWS.copy()
    np.add.at(expected, [1, 1, 4, 1], [-0.5, -1.0])
    np.testing.assert_array_equal(embedding.get_embedding_tensor(), expected)
    assert float(second) == (_ROWS[1] - [1, 2]) @ [1, 2]


def test_updates_are_summed_over_micro_batches() -> None:
    embedding = _embedding("summed", embedding_ops.HostEmbeddingSGDGAOptimizerSpec(1.0, 3))

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            rows = embedding.lookup(tf.constant([2]))
        tape.gradient(rows, embedding.trainable_variables)
        return rows

    with embedding.register():
        seen = [float(step()[0, 0]) - _ROWS[2, 0] for _ in range(7)]
    assert seen == [0, 0, 0, -3, -3, -3, -6]


def test_one_micro_batch_is_plain_descent() -> None:
    spec = embedding_ops.HostEmbeddingSGDGAOptimizerSpec(1.0, 1)
    assert spec.get_accumulation_factor() == 1
    embedding = _embedding("plain", spec)
    with embedding.register(), tf.GradientTape() as tape:
        rows = embedding.lookup(tf.constant([2]))
        tape.gradient(rows, embedding.trainable_variables)
    np.testing.assert_array_equal(embedding.get_embedding_tensor()[2], _ROWS[2] - 1)


def test_a_rate_of_zero_leaves_the_rows() -> None:
    embedding = _embedding("fixed", embedding_ops.HostEmbeddingOptimizerSpec(0))
    assert embedding.trainable_variables == []


def _in_session(build: Callable[[], Any]) -> None:
    with tf.Graph().as_default():
        build()


def test_rows_are_updated_in_sessions() -> None:
    def check() -> None:
        embedding = _embedding("session", embedding_ops.HostEmbeddingOptimizerSpec(0.25))
        ids = v1.placeholder(tf.int32, [2])
        rows = embedding.lookup(ids)
        train = v1.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(rows))
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            with embedding.register(session):
                for _ in range(4):
                    session.run(train, {ids: [3, 5]})
            found = session.run(embedding.get_embedding_tensor())
        expected = _ROWS.copy()
        expected[[3, 5]] -= 1
        np.testing.assert_array_equal(found, expected)

    _in_session(check)


def test_ops_by_name_update_the_table_of_that_name() -> None:
    table = tf.Variable(_ROWS)
    ops = gen_pop_datastream_ops

    @tf.function
    def step() -> tf.Tensor:
        rows = ops.ipu_device_embedding_lookup([1, 2], "named", _ROWS.shape, tf.float32)
        for _ in range(2):
            ops.ipu_device_embedding_update_add(rows, rows, [1, 2], "named", embedding_shape=_ROWS.shape)
        ops.ipu_device_embedding_notify("named")
        return rows

    for optimizer in ("SGD", "SGD+GA"):
        table.assign(_ROWS)
        ops.ipu_host_embedding_register(table, "named", optimizer=optimizer)
        step()
        rows = ops.ipu_host_embedding_deregister(table, "named")
        np.testing.assert_array_equal(rows, table)
        np.testing.assert_array_equal(rows[1:3], _ROWS[1:3] * 3)


def test_a_table_that_is_not_registered_is_named() -> None:
    embedding = _embedding("absent")
    with pytest.raises(tf.errors.InvalidArgumentError, match="'absent' is not registered"):
        embedding.lookup(tf.constant([0]))


def test_wrong_arguments_are_refused() -> None:
    rows = tf.constant(_ROWS)
    with pytest.raises(ValueError, match="embedding_tensor"):
        embedding_ops.HostEmbedding("a", _ROWS)
    with pytest.raises(ValueError, match="optimizer_spec"):
        embedding_ops.HostEmbedding("a", rows, optimizer_spec="SGD")
    with pytest.raises(ValueError, match="partition strategy 'ROW'"):
        embedding_ops.HostEmbedding("a", rows, partition_strategy="ROW")
    with pytest.raises(NotImplementedError, match="register"):
        embedding_ops.HostEmbedding("a", rows)()
    with tf.Graph().as_default(), pytest.raises(ValueError, match="session"):
        embedding_ops.HostEmbedding("a", tf.constant(_ROWS)).register()
