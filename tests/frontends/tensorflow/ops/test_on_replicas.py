"""Ops with a state or a random stream have one on each replica."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

REPLICAS, ITERATIONS = 2, 5


@pytest.fixture
def strategy():
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = REPLICAS
    config.configure_ipu_system()
    yield ipu.ipu_strategy.IPUStrategy()
    ipu.config.reset_ipu_configuration()


def on_replicas(strategy, values):
    """What `values()` gives in each iteration on each replica: `[iterations, replicas, ...]`."""
    with strategy.scope():
        outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()

        @tf.function(jit_compile=True)
        def program():
            ipu.loops.repeat(ITERATIONS, lambda: outfeed.enqueue(values()), [])

        strategy.run(program)
        return outfeed.dequeue().numpy()


def test_each_replica_has_a_queue_of_its_own(strategy):
    def values():
        return ipu.internal_ops.fifo(ipu.replication_ops.replication_index() + 1, 2)

    np.testing.assert_array_equal(on_replicas(strategy, values), [[0, 0], [0, 0], [1, 2], [1, 2], [1, 2]])


def test_each_replica_drops_other_elements_in_each_iteration(strategy):
    masks = on_replicas(strategy, lambda: ipu.rand_ops.dropout(tf.ones([200])))
    distinct = {mask.tobytes() for mask in masks.reshape(-1, 200)}
    assert len(distinct) == REPLICAS * ITERATIONS


def test_a_seed_drops_the_same_elements_everywhere(strategy):
    masks = on_replicas(strategy, lambda: ipu.rand_ops.dropout(tf.ones([200]), seed=[1, 2]))
    assert len({mask.tobytes() for mask in masks.reshape(-1, 200)}) == 1


def test_outlined_functions_exchange_data_between_replicas(strategy):
    @ipu.outlined_function
    def total(x):
        return ipu.cross_replica_ops.cross_replica_sum(x)

    def values():
        return total(ipu.replication_ops.replication_index() + 1)

    np.testing.assert_array_equal(on_replicas(strategy, values), np.full([ITERATIONS, REPLICAS], 3))
