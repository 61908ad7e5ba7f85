"""Programs of `strategy.run` as the chip model sees them: steps, loops in them, recurrent layers of stock Keras."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula.frontends.tensorflow.modelling.subject import TensorFlowSubject
from tremula.program.op import Phase

from .asked import answer_of, asked, cycles, read, trained_names

WIDTH, SAMPLES = 8, 4


def under_strategy(
    build: Callable[[], tuple[Callable[..., Any], list[Any]]], ipus: int = 1
) -> TensorFlowSubject:
    """The subject of a function with arguments, after the strategy has run it."""
    with asked(ipus) as found:
        strategy = ipu.ipu_strategy.IPUStrategy()
        with strategy.scope():
            function, args = build()
            strategy.run(function, args=args)
    assert len(found) == 1
    return found[0]


def trained_by(variables: list[Any], loss: Callable[[Any], Any], apply: Callable[[Any], None]) -> Any:
    """A function that trains one step."""

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(x)
        apply(list(zip(tape.gradient(value, variables), variables, strict=True)))
        return value

    return step


def test_a_training_step_of_a_function() -> None:
    def build() -> Any:
        weights = tf.Variable(tf.ones([WIDTH, WIDTH]), name="w")
        optimizer = tf.keras.optimizers.Adam(0.1)
        step = trained_by([weights], lambda x: tf.reduce_sum((x @ weights) ** 2), optimizer.apply_gradients)
        return tf.function(step, jit_compile=True), [tf.ones([SAMPLES, WIDTH])]

    subject = under_strategy(build)
    assert subject.loops.device_iterations == 1
    assert subject.micro_batch == SAMPLES
    assert trained_names(subject) == {"w"}
    answer = answer_of(subject)
    assert all(cycles(answer, each) > 0 for each in (Phase.FORWARD, Phase.BACKWARD, Phase.UPDATE))


def test_momentum_that_a_program_writes_out_is_state_of_its_variable() -> None:
    def build() -> Any:
        weights = tf.Variable(tf.ones([WIDTH, WIDTH]), name="w")
        speed = tf.Variable(tf.zeros([WIDTH, WIDTH]), trainable=False, name="speed")

        def apply(pairs: Any) -> None:
            ((gradient, variable),) = pairs
            speed.assign(0.9 * speed + gradient)
            variable.assign_sub(0.1 * speed)

        step = trained_by([weights], lambda x: tf.reduce_sum((x @ weights) ** 2), apply)
        return tf.function(step, jit_compile=True), [tf.ones([SAMPLES, WIDTH])]

    subject = under_strategy(build)
    assert trained_names(subject) == {"w"}
    written = [node for node in read(subject).nodes if node.type.startswith("Assign")]
    assert [node.phase for node in written] == [Phase.UPDATE, Phase.UPDATE]


@pytest.mark.parametrize("as_tensor", [False, True])
def test_the_count_of_a_loop_may_be_an_argument(as_tensor: bool) -> None:
    def build() -> Any:
        weights = tf.Variable(tf.ones([WIDTH, WIDTH]), name="w")
        step = trained_by(
            [weights],
            lambda x: tf.reduce_sum(x @ weights),
            lambda pairs: [variable.assign_sub(0.1 * gradient) for gradient, variable in pairs] and None,
        )

        @tf.function(jit_compile=True)
        def loop(x: Any, count: Any) -> None:
            for _ in tf.range(count):
                step(x)

        count = 9
        return loop, [tf.ones([SAMPLES, WIDTH]), tf.constant(count) if as_tensor else count]

    subject = under_strategy(build)
    assert subject.loops.device_iterations == 9
    assert not read(subject).counts.unknown


def test_replicas_share_the_work() -> None:
    def build() -> Any:
        weights = tf.Variable(tf.ones([WIDTH, WIDTH]), name="w")
        return tf.function(lambda x: x @ weights, jit_compile=True), [tf.ones([SAMPLES, WIDTH])]

    answer = answer_of(under_strategy(build, ipus=2))
    assert answer.result.setting["replicas"] == 2


@pytest.mark.parametrize("kind", [tf.keras.layers.LSTM, tf.keras.layers.GRU, tf.keras.layers.SimpleRNN])
def test_recurrent_layers_of_keras_run_once_for_each_step(kind: Any) -> None:
    def program(steps: int) -> TensorFlowSubject:
        def build() -> Any:
            layer = kind(WIDTH)
            layer.build(tf.TensorShape([SAMPLES, steps, WIDTH]))
            step = trained_by(
                layer.trainable_variables,
                lambda x: tf.reduce_sum(layer(x)),
                lambda pairs: [variable.assign_sub(0.1 * gradient) for gradient, variable in pairs] and None,
            )
            return tf.function(step, jit_compile=True), [tf.ones([SAMPLES, steps, WIDTH])]

        return under_strategy(build)

    few, many = program(5), program(50)
    for subject, steps in ((few, 5), (many, 50)):
        captured = read(subject)
        loops = {
            phase: {
                block.trips
                for node in captured.nodes
                if node.phase is phase
                for block in captured.counts.inner(node.block)
            }
            for phase in (Phase.FORWARD, Phase.BACKWARD)
        }
        assert loops == {Phase.FORWARD: {steps}, Phase.BACKWARD: {steps}}
        assert len(captured.trained) == 3
        assert not captured.unknown_sizes
    for phase in (Phase.FORWARD, Phase.BACKWARD):
        assert cycles(answer_of(many), phase) > 5 * cycles(answer_of(few), phase)
