"""Facts for the chip model are attributes of ops in graphs, and nothing in eager execution."""

from __future__ import annotations

import tensorflow as tf

from tremula.frontends.tensorflow.ops import facts

VALUES = {"flag": True, "count": 3, "share": 0.5, "text": "half", "type": tf.float16, "options": {"a": ["1"]}}


def test_facts_are_read_back_from_a_graph():
    with tf.Graph().as_default():
        tensors = facts.record([tf.identity(1.0), tf.no_op()], absent=None, **VALUES)
        for output in tensors:
            assert facts.recorded(output) == VALUES | {"options": '{"a": ["1"]}'}


def test_facts_survive_in_a_concrete_function():
    @tf.function
    def function(x):
        return facts.record(x * 2, **VALUES)

    graph = function.get_concrete_function(tf.constant(1.0)).graph
    (op,) = [op for op in graph.get_operations() if op.type == "Mul"]
    assert facts.recorded(op)["count"] == 3
    assert float(function(tf.constant(1.0))) == 2.0


def test_eager_tensors_have_none():
    assert facts.recorded(facts.record(tf.constant(1.0) + 1, **VALUES)) == {}
