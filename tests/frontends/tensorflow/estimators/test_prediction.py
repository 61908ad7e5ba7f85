"""Predictions of an estimator: their order, their shapes, and where they end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

IPUEstimator = ipu.ipu_estimator.IPUEstimator


def model_of_two(features: Any, mode: str) -> Any:
    return tf.estimator.EstimatorSpec(
        mode, predictions={"same": features, "double": 2.0 * tf.reduce_sum(features, axis=-1)}
    )


def pairs() -> Any:
    """Three batches of two samples of two numbers."""
    return tf.data.Dataset.from_tensor_slices(np.arange(12, dtype=np.float32).reshape(3, 2, 2))


@pytest.mark.parametrize("iterations", [1, 3])
def test_samples_come_one_by_one_in_order(regression: Any, config: Any, iterations: int) -> None:
    estimator = IPUEstimator(regression.model_fn(), config=config(2))
    estimator.train(regression.input_fn(), steps=4)
    predicting = IPUEstimator(regression.model_fn(), config=config(iterations))
    given = list(predicting.predict(regression.input_fn(), num_predictions=18))
    expected = regression.x @ regression.trained(4)[0]
    np.testing.assert_allclose(given, expected[:18], rtol=1e-5)


def test_dictionaries_are_taken_apart(config: Any) -> None:
    estimator = IPUEstimator(model_of_two, config=config(3))
    given = list(estimator.predict(pairs, num_predictions=6))
    assert [each["double"] for each in given] == [2.0, 10.0, 18.0, 26.0, 34.0, 42.0]
    np.testing.assert_array_equal(given[2]["same"], [4.0, 5.0])
    chosen = list(estimator.predict(pairs, predict_keys=["double"], num_predictions=1))
    assert chosen == [{"double": 2.0}]


def test_batches_may_stay_whole(config: Any) -> None:
    estimator = IPUEstimator(model_of_two, config=config(3))
    given = list(estimator.predict(pairs, yield_single_examples=False, num_predictions=3))
    np.testing.assert_array_equal([each["double"] for each in given], [[2, 10], [18, 26], [34, 42]])


def test_nothing_runs_before_the_first_prediction_is_asked_for(config: Any) -> None:
    called = []

    def input_fn() -> Any:
        called.append(True)
        return pairs()

    predictions = IPUEstimator(model_of_two, config=config()).predict(input_fn)
    assert not called
    next(predictions)
    assert called


def test_asking_for_more_than_the_data_give_is_an_error(config: Any) -> None:
    predictions = IPUEstimator(model_of_two, config=config()).predict(pairs)
    for _ in range(6):
        next(predictions)
    with pytest.raises(tf.errors.InvalidArgumentError, match="set num_predictions"):
        next(predictions)


@pytest.mark.parametrize("named", [False, True])
def test_results_without_a_batch_axis_cannot_be_taken_apart(config: Any, named: bool) -> None:
    def model_fn(features: Any, mode: str) -> Any:
        total = tf.reduce_sum(features)
        return tf.estimator.EstimatorSpec(mode, predictions={"a": features, "b": total} if named else total)

    estimator = IPUEstimator(model_fn, config=config(3))
    with pytest.raises(ValueError, match="Pass yield_single_examples=False"):
        next(estimator.predict(pairs))
    assert next(estimator.predict(pairs, yield_single_examples=False)) is not None


def test_labels_of_the_dataset_are_ignored(regression: Any, config: Any) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        assert labels is None
        return tf.estimator.EstimatorSpec(mode, predictions=features)

    predictions = IPUEstimator(model_fn, config=config()).predict(regression.input_fn())
    np.testing.assert_array_equal(next(predictions), regression.x[0])


def test_a_trained_model_can_be_exported(regression: Any, config: Any, tmp_path: Any) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        spec = regression.model_fn()(features, labels, mode)
        if mode == tf.estimator.ModeKeys.PREDICT:
            output = tf.estimator.export.PredictOutput({"y": spec.predictions})
            return spec._replace(export_outputs={"serving_default": output})
        return spec

    def receiver() -> Any:
        given = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        return tf.estimator.export.TensorServingInputReceiver(given, {"x": given})

    estimator = IPUEstimator(model_fn, config=config(2))
    estimator.train(regression.input_fn(), steps=4)
    folder = estimator.export_saved_model(str(tmp_path / "export"), receiver).decode()
    exported = tf.saved_model.load(folder).signatures["serving_default"]
    expected = regression.x @ regression.trained(4)[0]
    np.testing.assert_allclose(exported(x=tf.constant(regression.x))["y"], expected, rtol=1e-5)
