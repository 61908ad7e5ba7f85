"""Optimizers that change gradients before the wrapped optimizer uses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu
from tensorflow.python.ipu import optimizers

from tremula.frontends.tensorflow import sharding
from tremula.frontends.tensorflow.replicas.collectives import replication_index
from tremula.frontends.tensorflow.replicas.program import DeviceFunction

train = tf.compat.v1.train


def applied_once(optimizer: Any, pairs: list[Any]) -> None:
    """Apply gradients in a function."""

    @tf.function
    def program() -> None:
        optimizer.apply_gradients(pairs)

    program()


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_replicas_apply_the_mean_of_their_gradients(replicas: int) -> None:
    weight = tf.Variable(0.0)
    optimizer = optimizers.CrossReplicaOptimizer(train.GradientDescentOptimizer(1.0))

    def program() -> None:
        own = tf.cast(replication_index(), tf.float32)
        optimizer.apply_gradients([(own, weight)])

    DeviceFunction(program, replicas=replicas)()
    assert weight.numpy() == -np.mean(np.arange(replicas))


def test_gradients_are_mapped_when_they_are_computed() -> None:
    weight = tf.Variable([1.0, 2.0])
    optimizer = optimizers.MapGradientOptimizer(
        train.GradientDescentOptimizer(1.0), lambda gradient, value: gradient + 10 * value
    )

    @tf.function
    def program() -> Any:
        ((gradient, _),) = optimizer.compute_gradients(tf.reduce_sum(weight * 3.0), [weight])
        return gradient

    np.testing.assert_array_equal(program(), [13, 23])


def test_gradients_may_be_mapped_when_they_are_applied() -> None:
    weight = tf.Variable([1.0, 2.0])
    optimizer = optimizers._MapGradientOptimizerInvertedChaining(
        train.GradientDescentOptimizer(1.0), lambda gradient, value: gradient + 10 * value
    )
    applied_once(optimizer, [(tf.constant([3.0, 3.0]), weight)])
    np.testing.assert_array_equal(weight, [1 - 13, 2 - 23])


def test_gradients_are_on_the_shard_of_their_ops() -> None:
    with tf.Graph().as_default() as graph:
        weight = tf.compat.v1.get_variable("w", initializer=[[1.0]], use_resource=True)
        with ipu.scopes.ipu_shard(1):
            loss = tf.reduce_sum(tf.matmul([[2.0]], weight))
        optimizers.ShardedOptimizer(train.GradientDescentOptimizer(1.0)).minimize(loss)
        shards = [sharding.get_sharding(op) for op in graph.get_operations() if op.type == "MatMul"]
    assert shards == [[1]] * 3


def test_a_wrapper_passes_on_what_it_does_not_change() -> None:
    inner = train.MomentumOptimizer(1.0, 0.9)
    wrapper = optimizers.IpuOptimizer(inner, "wrapper")
    weight = tf.Variable(1.0)
    applied_once(wrapper, [(tf.constant(2.0), weight)])
    assert weight.numpy() == -1.0
    assert wrapper.get_name() == inner.get_name()
    assert wrapper.get_slot_names() == ["momentum"]
    assert wrapper.get_slot(weight, "momentum") is inner.get_slot(weight, "momentum")
    assert len(wrapper.variables()) == 1
