"""Collectives of the host, found by name, and the names of Horovod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ipu import distributed
from tensorflow.python.ipu import horovod as hvd

PROGRAM = """
from tensorflow.python.ipu import distributed
from tensorflow.python.ipu import horovod as hvd
import tensorflow.compat.v1 as tf1
SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN

@tf.function
def first_a(a, b):
    a = distributed.allreduce(a, SUM, "a")
    b = distributed.allgather(b, "b")
    return a, b

@tf.function
def first_b(a, b):
    b = distributed.allgather(b, "b")
    a = distributed.allreduce(a, SUM, "a")
    return a, b

own = tf.constant([1.0, 2.0]) * (instance + 1), tf.constant(instance)
for name, value in zip("ab", (first_b if instance else first_a)(*own)):
    save(name, value)

save("mean", distributed.allreduce(tf.constant([4.0, 8.0]) * instance, MEAN))
save("broadcast", distributed.broadcast(tf.constant([instance], tf.int16), 1))
try:
    distributed.allreduce(tf.zeros([instance + 1]), SUM)
except tf.errors.UnknownError as problem:
    save("problem", problem.message)
save("after", distributed.allreduce(tf.constant(1.0), SUM))

hvd.init()
save("ranks", [hvd.rank(), hvd.local_rank(), hvd.size(), hvd.local_size()])
save("concatenated", hvd.allgather(tf.range(instance + 1)))
save("average", hvd.allreduce(tf.constant(float(instance))))
slices = hvd.allreduce(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([instance]), tf.constant([2, 2])), op=hvd.Sum)
save("slices", tf.convert_to_tensor(slices))

with tf.Graph().as_default(), tf1.Session() as session:
    # more at once than the machine has cores, in another order on each instance
    values = [hvd.allreduce(tf.constant(float(n), name=f"v{n}"), op=hvd.Sum) for n in range(12)]
    order = list(range(12)) if instance else list(range(11, -1, -1))
    found = session.run([values[n] for n in order])
    save("at_once", [found[order.index(n)] for n in range(12)])
"""


def test_between_two_processes(poprun: Callable[..., Any]) -> None:
    for number, got in enumerate(poprun(PROGRAM).saved):
        np.testing.assert_array_equal(got["a"], [3.0, 6.0])
        np.testing.assert_array_equal(got["b"], [0, 1])
        np.testing.assert_array_equal(got["mean"], [2.0, 4.0])
        assert got["broadcast"].tolist() == [1]
        assert got["broadcast"].dtype == np.int16
        assert "float32 [1] on instance 0, sum of float32 [2] on instance 1" in str(got["problem"])
        assert got["after"] == 2.0
        assert got["ranks"].tolist() == [number, number, 2, 2]
        assert got["concatenated"].tolist() == [0, 0, 1]
        assert got["average"] == 0.5
        assert got["slices"].tolist() == [[1.0, 1.0], [1.0, 1.0]]
        assert got["at_once"].tolist() == [2.0 * n for n in range(12)]


def test_one_process_has_its_own_values() -> None:
    value = tf.constant([1.0, 2.0])
    assert distributed.allgather(value).numpy().tolist() == [[1.0, 2.0]]
    assert distributed.allreduce(value, tf.distribute.ReduceOp.MEAN).numpy().tolist() == [1.0, 2.0]
    assert distributed.broadcast(value).numpy().tolist() == [1.0, 2.0]
    hvd.init()
    assert (hvd.size(), hvd.rank()) == (1, 0)
    assert hvd.allgather(value).numpy().tolist() == [1.0, 2.0]
    hvd.shutdown()


def test_wrong_uses_say_what_is_right() -> None:
    with pytest.raises(ValueError, match=r"use hvd\.init"):
        hvd.rank()
    with pytest.raises(NotImplementedError, match=r"Adasum .*hvd.Sum"):
        hvd.allreduce(tf.constant(1.0), op=hvd.Adasum)
    with pytest.raises(ValueError, match="SUM or MEAN"):
        distributed.allreduce(tf.constant(1.0), "product")
