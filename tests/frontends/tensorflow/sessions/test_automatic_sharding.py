"""Automatic sharding: ops between data and loss are spread over IPUs, in order and by size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.python import ipu

v1 = tf.compat.v1


def network(x: Any, layers: int = 6) -> Any:
    for number in range(layers):
        weight = v1.get_variable(f"w{number}", [8, 8], use_resource=True)
        x = tf.nn.relu(tf.matmul(x, weight), name=f"layer{number}")
    return tf.reduce_sum(x, name="loss")


def shards(graph: Any) -> dict[str, int]:
    found = {op.name: ipu.sharding.get_sharding(op) for op in graph.get_operations()}
    return {name: ipus[0] for name, ipus in found.items() if ipus}


@pytest.mark.parametrize("backward_first", [False, True])
def test_forward_ops_are_cut_in_order_and_the_backward_pass_follows(backward_first: bool) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [4, 8], name="x")
        loss = network(x)
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        if backward_first:
            optimizer.minimize(loss, colocate_gradients_with_ops=True)
        ipu.autoshard.automatic_sharding(3, x, loss)
        if not backward_first:
            optimizer.minimize(loss)
        found = shards(graph)
    forward = [found[f"layer{number}"] for number in range(6)]
    assert forward == sorted(forward)
    assert set(forward) == {0, 1, 2}
    assert max(forward.count(shard) for shard in range(3)) <= 3
    assert found["gradients/layer0_grad/ReluGrad"] == found["layer0"]


def test_a_sharded_program_computes_the_same() -> None:
    results = []
    for count in (1, 2):
        ipu.config.reset_ipu_configuration()
        with tf.Graph().as_default():
            v1.set_random_seed(3)

            def net(x: Any, count: int = count) -> Any:
                loss = network(x)
                ipu.autoshard.automatic_sharding(count, x, loss)
                return loss

            with ipu.scopes.ipu_scope("/device:IPU:0"):
                (loss,) = ipu.ipu_compiler.compile(net, [tf.ones([4, 8])])
            config = ipu.config.IPUConfig()
            config.auto_select_ipus = count
            config.configure_ipu_system()
            with v1.Session() as session:
                session.run([v.initializer for v in v1.global_variables()])
                for variable in v1.global_variables():
                    session.run(variable.assign(np.eye(8)))
                results.append(session.run(loss))
    assert results == [32.0, 32.0]


@given(st.integers(1, 6), st.integers(6, 12))
@settings(max_examples=15, deadline=None)
def test_every_shard_gets_ops(count: int, layers: int) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [4, 8])
        ipu.autoshard.automatic_sharding(count, x, network(x, layers))
        assert set(shards(graph).values()) == set(range(count))


def test_edges_can_be_kept_whole() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [4, 8], name="x")
        loss = network(x, 2)
        ipu.autoshard.automatic_sharding(2, x, loss, edge_filter=lambda edge: edge[1] == "layer1")
        found = shards(graph)
    assert found["layer1"] == found[next(name for name in found if name.startswith("MatMul_1"))]


def test_more_shards_than_ops_and_a_loss_without_the_input_are_refused() -> None:
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [4, 8], name="x")
        loss = network(x, 1)
        with pytest.raises(ValueError, match="cannot be put on 64 shards"):
            ipu.autoshard.automatic_sharding(64, x, loss)
        with pytest.raises(ValueError, match="does not depend on"):
            ipu.autoshard.automatic_sharding(2, x, tf.reduce_sum(tf.ones([2])))
