"""Evaluation with an estimator: metrics of the device and of the host, on weights that stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

IPUEstimator = ipu.ipu_estimator.IPUEstimator
IPUEstimatorSpec = ipu.ipu_estimator.IPUEstimatorSpec
metrics = tf.compat.v1.metrics


def loss_only(mode: str, **kwargs: Any) -> Any:
    return IPUEstimatorSpec(mode, loss=tf.constant(0.0), **kwargs)


@pytest.fixture
def classes() -> Any:
    """An input function of guesses and true classes."""
    guesses, truth = [0, 0, 0, 1, 1, 0], [0, 1, 0, 1, 0, 0]
    return lambda: tf.data.Dataset.from_tensor_slices((guesses, truth)).batch(2, drop_remainder=True)


@pytest.mark.parametrize("iterations", [1, 3])
def test_metrics_and_loss_are_means_over_all_steps(regression: Any, config: Any, iterations: int) -> None:
    estimator = IPUEstimator(regression.model_fn(), config=config(iterations))
    results = estimator.evaluate(regression.input_fn(), steps=12)
    difference = (regression.x @ regression.trained(0)[0] - regression.y)[:24]
    assert results["error"] == pytest.approx(np.mean(np.abs(difference)), rel=1e-5)
    assert results["loss"] == pytest.approx(np.mean(difference**2), rel=1e-5)


def test_the_latest_checkpoint_is_evaluated_or_the_one_that_is_named(regression: Any, config: Any) -> None:
    estimator = IPUEstimator(regression.model_fn(), config=config(2, save_checkpoints_steps=2))
    estimator.train(regression.input_fn(), steps=4)

    def error(step: int) -> float:
        weights, _ = regression.trained(step)
        return float(np.mean(np.abs(regression.x @ weights - regression.y)))

    latest = estimator.evaluate(regression.input_fn(), steps=24)
    named = estimator.evaluate(
        regression.input_fn(), steps=24, checkpoint_path=f"{estimator.model_dir}/model.ckpt-2"
    )
    assert latest["error"] == pytest.approx(error(4), rel=1e-5)
    assert named["error"] == pytest.approx(error(2), rel=1e-5)
    # the evaluated steps are counted too, but not saved
    assert latest["global_step"] == 28
    assert estimator.get_variable_value("global_step") == 4


@pytest.mark.parametrize("kind", ["v1", "keras"])
def test_an_update_that_the_model_builds_in_every_mode_is_left_out(config: Any, kind: str) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        weight = tf.compat.v1.get_variable("w", initializer=2.0, use_resource=True)
        loss = tf.reduce_mean(weight * features)
        if kind == "v1":
            train_op = tf.compat.v1.train.MomentumOptimizer(0.5, 0.9).minimize(loss)
        else:
            train_op = tf.keras.optimizers.legacy.SGD(0.5).get_updates(loss, [weight])[0]
        seen = metrics.mean(weight)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops={"w": seen})

    def input_fn() -> Any:
        return tf.data.Dataset.from_tensor_slices((np.ones(6, np.float32), np.ones(6, np.float32)))

    estimator = IPUEstimator(model_fn, config=config(3))
    assert estimator.evaluate(input_fn, steps=6)["w"] == 2.0
    estimator.train(input_fn, steps=3)
    assert estimator.get_variable_value("w") != 2.0


def test_weights_that_change_nevertheless_are_warned_of(config: Any, capfd: Any) -> None:
    from tremula import log

    def model_fn(features: Any, mode: str) -> Any:
        weight = tf.compat.v1.get_variable("changing", initializer=2.0, use_resource=True)
        weight.assign_add(1.0)
        return tf.estimator.EstimatorSpec(
            mode, loss=tf.reduce_mean(features), eval_metric_ops={"mean": metrics.mean(features)}
        )

    log.forget_once()
    IPUEstimator(model_fn, config=config()).evaluate(
        lambda: tf.data.Dataset.from_tensor_slices([1.0]), steps=1
    )
    assert "The model_fn changes weights in mode 'eval' (changing:0)" in capfd.readouterr().err


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("kind", [list, dict])
def test_the_host_may_compute_metrics(classes: Any, config: Any, iterations: int, kind: type) -> None:
    def on_host(guesses: Any, truth: Any) -> Any:
        assert guesses.device == "/device:CPU:0" or guesses.op.device == "/device:CPU:0"
        return {"accuracy": metrics.accuracy(truth, guesses), "recall": metrics.recall(truth, guesses)}

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        given = [features, labels] if kind is list else {"truth": labels, "guesses": features}
        return loss_only(mode, eval_metrics=(on_host, given))

    results = IPUEstimator(model_fn, config=config(iterations)).evaluate(classes, steps=3)
    assert results["accuracy"] == pytest.approx(4 / 6)
    assert results["recall"] == pytest.approx(1 / 2)


def test_counts_of_the_device_include_the_last_step(classes: Any, config: Any) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        return loss_only(mode, eval_metric_ops={"hits": metrics.true_positives(labels, features)})

    assert IPUEstimator(model_fn, config=config()).evaluate(classes, steps=3)["hits"] == 1.0


def test_metrics_of_keras_are_read_after_their_update(regression: Any, config: Any) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        mean = tf.keras.metrics.Mean()
        mean.update_state(features)
        return loss_only(mode, eval_metric_ops={"mean": mean})

    results = IPUEstimator(model_fn, config=config(4)).evaluate(regression.input_fn(), steps=24)
    assert results["mean"] == pytest.approx(np.mean(regression.x), rel=1e-4)


def test_exactly_one_kind_of_metrics_is_needed(classes: Any, config: Any) -> None:
    def evaluate(**kwargs: Any) -> None:
        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            made = {name: value(features, labels) for name, value in kwargs.items()}
            return loss_only(mode, **made)

        IPUEstimator(model_fn, config=config()).evaluate(classes, steps=1)

    def of_device(features: Any, labels: Any) -> Any:
        return {"accuracy": metrics.accuracy(labels, features)}

    with pytest.raises(ValueError, match="must contain either eval_metric_ops or eval_metrics"):
        evaluate()
    with pytest.raises(ValueError, match="cannot contain both eval_metric_ops and eval_metrics"):
        evaluate(eval_metric_ops=of_device, eval_metrics=lambda *given: (of_device, list(given)))


def test_metrics_are_written_as_summaries(regression: Any, config: Any, summaries: Any) -> None:
    estimator = IPUEstimator(regression.model_fn(), config=config(2))
    results = estimator.evaluate(regression.input_fn(), steps=2, name="validation")
    assert summaries(estimator.eval_dir("validation"), "error") == [pytest.approx(results["error"])]
