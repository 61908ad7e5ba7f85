"""Every op of a step has the layer of the user's model that it belongs to, and the types that it computes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

from ipu_tensorflow_addons.keras.layers import Embedding
from ipu_tensorflow_addons.keras.optimizers import LAMBIpuOptimizer
from tremula import ask
from tremula.frontends.tensorflow.capture.capture import capture
from tremula.frontends.tensorflow.capture.captured import Captured
from tremula.frontends.tensorflow.keras.programs import Mode
from tremula.frontends.tensorflow.keras.step_graph import trace_step
from tremula.program.op import Phase
from tremula.program.variant import Variant
from tremula.program.work import Gather
from tremula.schedule.deployment import Deployment


def captured(build: Callable[[], Any], *specs: tf.TensorSpec) -> Captured:
    """A training step of a model."""
    with tf.distribute.get_strategy().scope():
        model = build()
        model.compile(tf.keras.optimizers.legacy.SGD(0.1), "mse")
    return capture(trace_step(model, Mode.FIT, specs), model=model)


def of_type(found: Captured, *types: str) -> list[Any]:
    return [node for node in found.nodes if node.type in types]


def residual() -> Any:
    inputs = tf.keras.Input((8,), 4)
    x = layers.Dense(8, name="first")(inputs)
    y = layers.Dense(8, name="second")(x)
    z = layers.Dense(8, name="third")(layers.Add(name="sum")([x, y]))
    return tf.keras.Model(inputs, layers.Add(name="last")([y, z]))


def test_a_sum_of_gradients_belongs_to_the_layer_that_forward_calls_first() -> None:
    batch = tf.TensorSpec((4, 8))
    found = captured(residual, batch, batch)
    sums = of_type(found, "AddN")
    # x is used by `second` and by `sum`, y by `sum` and by `last`
    assert {node.module for node in sums} == {"second", "third"}
    assert all(node.phase is Phase.BACKWARD and node.source is not None for node in sums)


def test_ops_of_a_function_that_a_layer_calls_belong_to_the_layer() -> None:
    def build() -> Any:
        inputs = tf.keras.Input((8, 8, 4), 2)
        x = layers.Conv2D(8, 3, padding="same", name="plain")(inputs)
        # Keras puts grouped convolutions in a function of their own
        return tf.keras.Model(inputs, layers.Conv2D(8, 3, padding="same", groups=2, name="grouped")(x))

    found = captured(build, tf.TensorSpec((2, 8, 8, 4)), tf.TensorSpec((2, 8, 8, 8)))
    products = of_type(found, "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")
    assert sorted((node.type, node.module) for node in products) == [
        ("Conv2D", "grouped"),
        ("Conv2D", "plain"),
        ("Conv2DBackpropFilter", "grouped"),
        ("Conv2DBackpropFilter", "plain"),
        ("Conv2DBackpropInput", "grouped"),
    ]


def test_the_gradient_of_a_transpose_has_a_known_order() -> None:
    def build() -> Any:
        inputs = tf.keras.Input((4, 6, 8), 2)
        x = layers.Permute((2, 3, 1))(layers.Dense(8)(inputs))
        return tf.keras.Model(inputs, layers.Dense(4)(x))

    found = captured(build, tf.TensorSpec((2, 4, 6, 8)), tf.TensorSpec((2, 6, 8, 4)))
    backward = [node for node in of_type(found, "Transpose") if node.phase is Phase.BACKWARD]
    orders = [node.inputs[1].constant for node in backward]
    assert any(order is not None and np.array_equal(order, [0, 3, 1, 2]) for order in orders)


def test_ops_of_an_update_lie_with_the_weights_that_it_changes() -> None:
    def build() -> Any:
        inputs = tf.keras.Input((8,), 4)
        model = tf.keras.Model(inputs, layers.Dense(24)(layers.Dense(16)(inputs)))
        model.compile(LAMBIpuOptimizer(0.1, weight_decay_rate=0.01), "mse")
        return model

    program = ask.factory(build, training=True).program(Variant(), Deployment())
    owners: dict[int, set[int]] = {}
    for op in program.ops:
        if op.phase is Phase.UPDATE and op.works:
            sizes = {program.tensors[made].elements for made in op.outputs}
            owners.setdefault(op.owner, set()).update(sizes)
    # what belongs to no weight are numbers that all of them share
    assert owners.pop(-1, {1}) == {1}
    kernels = {each for each in program.trained if len(program.tensors[each].shape) == 2}
    assert set(owners) == set(program.trained)
    assert all(owners[each] <= {1, program.tensors[each].elements} for each in kernels)


def lookup() -> Any:
    policy = tf.keras.mixed_precision.Policy("float16")
    tokens = tf.keras.Input((16,), 4, dtype=tf.int32)
    words = Embedding(100, 32, name="words", dtype=policy)(tokens)
    model = tf.keras.Model(tokens, layers.Dense(2, name="head", dtype=policy)(words))
    model.compile(tf.keras.optimizers.legacy.SGD(0.1), "mse")
    return model


def test_rows_of_a_table_have_its_type_and_their_gradient_has_a_line() -> None:
    subject = ask.factory(lookup, training=True)
    program = subject.program(Variant(), Deployment())
    words = [op for op in program.ops if op.kind == "tremula.Embedding"]
    assert [work.dtype for op in words for work in op.works if isinstance(work, Gather)] == ["fp16"]
    assert {op.phase for op in words if op.source is not None} == {Phase.FORWARD, Phase.BACKWARD}


def test_other_accumulators_leave_the_subject_as_it_was() -> None:
    subject = ask.factory(lookup, training=True)
    other = subject.with_dtypes((), "float32", None)

    def accumulators(asked: ask.Subject) -> set[str]:
        program = asked.program(Variant(), Deployment())
        return {program.tensors[number].dtype for number in program.carried}

    assert (subject.accumulator_dtype, other.accumulator_dtype) == ("float16", "float32")
    assert (accumulators(other), accumulators(subject)) == ({"fp32"}, {"fp16"})
