"""Input functions: what they may return, and what happens when their data end."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python import ipu

IPUEstimator = ipu.ipu_estimator.IPUEstimator


def summed(features: Any, labels: Any, mode: str) -> Any:
    """A model without weights."""
    total = tf.add_n([tf.reduce_sum(value) for value in tf.nest.flatten((features, labels))])
    return tf.estimator.EstimatorSpec(mode, loss=total, train_op=tf.identity(total))


def test_an_input_function_is_called_once(regression: Any, config: Any) -> None:
    calls = []

    def input_fn() -> Any:
        calls.append(True)
        return regression.input_fn()()

    estimator = IPUEstimator(regression.model_fn(), config=config())
    estimator.train(input_fn, steps=1)
    estimator.evaluate(input_fn, steps=1)
    next(estimator.predict(input_fn))
    assert len(calls) == 3


def test_features_and_labels_may_be_dictionaries(config: Any, summaries: Any) -> None:
    def input_fn() -> Any:
        features = {"a": [[1.0], [2.0]], "b": [[3.0], [4.0]]}
        return tf.data.Dataset.from_tensor_slices((features, {"c": [[5.0], [6.0]]}))

    estimator = IPUEstimator(summed, config=config())
    estimator.train(input_fn, steps=2)
    assert summaries(estimator.model_dir) == [9.0, 12.0]


def test_a_dictionary_alone_is_the_features(config: Any, summaries: Any) -> None:
    def model_fn(features: Any, mode: str) -> Any:
        return summed(features["a"] * features["b"], [], mode)

    estimator = IPUEstimator(model_fn, config=config(2))
    estimator.train(lambda: tf.data.Dataset.from_tensor_slices({"a": [1.0, 2.0], "b": [3.0, 4.0]}), steps=2)
    assert summaries(estimator.model_dir) == [5.5]


def test_data_that_end_too_early_are_an_error(regression: Any, config: Any) -> None:
    estimator = IPUEstimator(regression.model_fn(), config=config(4))
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no elements left"):
        estimator.train(regression.input_fn(skip=22), steps=4)


def test_data_that_are_just_enough_are_no_error(regression: Any, config: Any) -> None:
    estimator = IPUEstimator(regression.model_fn(), config=config(4))
    estimator.train(regression.input_fn(skip=20), steps=4)
    assert estimator.get_variable_value("global_step") == 4


def test_something_else_than_a_dataset_is_refused(config: Any) -> None:
    with pytest.raises(ValueError, match="input_fn must return Dataset"):
        IPUEstimator(summed, config=config()).train(lambda: (1.0, 2.0), steps=1)


@pytest.mark.parametrize("parts", [1, 3])
def test_tuples_of_other_than_two_are_refused(config: Any, parts: int) -> None:
    def input_fn() -> Any:
        return tf.data.Dataset.from_tensor_slices(tuple([1.0] for _ in range(parts)))

    with pytest.raises(ValueError, match="len 2 tuple"):
        IPUEstimator(summed, config=config()).train(input_fn, steps=1)


def test_labels_that_the_model_does_not_take_are_refused(config: Any) -> None:
    def input_fn() -> Any:
        return tf.data.Dataset.from_tensor_slices(([1.0], [1.0]))

    estimator = IPUEstimator(lambda features, mode: None, config=config())
    with pytest.raises(ValueError, match=r"model_fn does not take labels.*Add an argument"):
        estimator.train(input_fn, steps=1)


def test_batches_of_unknown_size_are_refused(regression: Any, config: Any) -> None:
    def input_fn() -> Any:
        return tf.data.Dataset.from_tensor_slices((regression.x, regression.y)).batch(2)

    with pytest.raises(ValueError, match="drop_remainder=True"):
        IPUEstimator(regression.model_fn(), config=config()).train(input_fn, steps=1)
