"""`host_call`: what the host does in every training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

IPUEstimator = ipu.ipu_estimator.IPUEstimator
IPUEstimatorSpec = ipu.ipu_estimator.IPUEstimatorSpec


def with_host_call(make: Callable[[Any, Any], tuple[Any, list[Any]]]) -> Callable[..., Any]:
    """A model function whose spec has the host call that `make` makes of features and labels."""

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        loss = tf.reduce_mean(features)
        return IPUEstimatorSpec(mode, loss=loss, train_op=tf.identity(loss), host_call=make(features, labels))

    return model_fn


def test_the_host_may_update_the_weights(regression: Any, config: Any) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        loss = tf.reduce_mean(tf.square(regression.predicted(features) - labels))
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)

        def on_host(*values: Any) -> Any:
            return optimizer.apply_gradients(zip(values, variables, strict=True))

        return IPUEstimatorSpec(
            mode, loss=loss, train_op=tf.identity(loss), host_call=(on_host, list(gradients))
        )

    estimator = IPUEstimator(model_fn, config=config())
    estimator.train(regression.input_fn(), steps=5)
    np.testing.assert_allclose(estimator.get_variable_value("model/w"), regression.trained(5)[0], rtol=1e-5)


def test_the_host_gets_the_tensors_of_each_step(regression: Any, config: Any) -> None:
    def on_host(features: Any, labels: Any) -> Any:
        seen = tf.compat.v1.get_variable("seen", initializer=tf.zeros([2]))
        assert seen.device == "/device:CPU:0"
        return seen.assign_add([tf.reduce_sum(features), tf.reduce_sum(labels)])

    estimator = IPUEstimator(
        with_host_call(lambda features, labels: (on_host, [features, labels])), config=config()
    )
    estimator.train(regression.input_fn(), steps=3)
    expected = [regression.x[:6].sum(), regression.y[:6].sum()]
    np.testing.assert_allclose(estimator.get_variable_value("seen"), expected, rtol=1e-5)


def test_the_function_must_give_something_to_run(regression: Any, config: Any) -> None:
    estimator = IPUEstimator(with_host_call(lambda *_: (lambda: None, [])), config=config())
    with pytest.raises(TypeError, match="`host_call` return value must be Operation or Tensor"):
        estimator.train(regression.input_fn(), steps=1)


def test_loops_of_several_iterations_are_refused(regression: Any, config: Any) -> None:
    estimator = IPUEstimator(with_host_call(lambda *_: (tf.no_op, [])), config=config(2))
    with pytest.raises(ValueError, match="host_call is not allowed for iterations_per_loop > 1"):
        estimator.train(regression.input_fn(), steps=2)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        ([max, []], TypeError, "is a pair .* not a list"),
        ((max, [], []), ValueError, "is a pair .* has 3 parts"),
        ((1, []), TypeError, "starts with a function"),
        ((max, {}), TypeError, "must be a list of tensors"),
    ],
)
def test_a_call_is_a_function_and_its_tensors(call: Any, kind: type[Exception], text: str) -> None:
    with tf.Graph().as_default(), pytest.raises(kind, match=f"`host_call` {text}"):
        IPUEstimatorSpec("infer", predictions=tf.constant(1.0), host_call=call)
    with tf.Graph().as_default():
        # metrics take names too
        IPUEstimatorSpec("infer", predictions=tf.constant(1.0), eval_metrics=(max, {}))
