"""Estimators on several replicas: each takes its own elements, and results are means over all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

IPUEstimator = ipu.ipu_estimator.IPUEstimator


@pytest.mark.parametrize(("iterations", "replicas"), [(1, 2), (3, 2), (2, 4)])
def test_replicas_train_with_the_mean_of_their_gradients(
    regression: Any, config: Any, summaries: Any, iterations: int, replicas: int
) -> None:
    model = regression.model_fn(ipu.optimizers.CrossReplicaOptimizer)
    estimator = IPUEstimator(model, config=config(iterations, replicas))
    estimator.train(regression.input_fn(), steps=6)
    weights, losses = regression.trained(6, replicas)
    np.testing.assert_allclose(estimator.get_variable_value("model/w"), weights, rtol=1e-5)
    expected = np.mean(np.reshape(losses, (-1, iterations)), axis=1)
    np.testing.assert_allclose(summaries(estimator.model_dir), expected, rtol=1e-5)
    assert estimator.get_variable_value("global_step") == 6


def test_gradients_may_be_accumulated_over_a_loop(regression: Any, config: Any) -> None:
    method = ipu.gradient_accumulation.GradientAccumulationReductionMethod.MEAN

    def wrap(optimizer: Any) -> Any:
        return ipu.optimizers.CrossReplicaGradientAccumulationOptimizerV2(
            optimizer, 3, reduction_method=method
        )

    estimator = IPUEstimator(regression.model_fn(wrap), config=config(3, 2))
    estimator.train(regression.input_fn(), steps=6)
    weights, _ = regression.trained(2, 6)
    np.testing.assert_allclose(estimator.get_variable_value("model/w"), weights, rtol=1e-5)


def test_a_model_may_branch(regression: Any, config: Any) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        predictions = regression.predicted(features)

        def loss_of_squares() -> Any:
            return tf.reduce_mean(tf.square(predictions - labels))

        loss = tf.cond(tf.reduce_sum(features) > 0.0, loss_of_squares, loss_of_squares)
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
        train_op = ipu.optimizers.CrossReplicaOptimizer(optimizer).minimize(loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    estimator = IPUEstimator(model_fn, config=config(2, 2))
    estimator.train(regression.input_fn(), steps=4)
    np.testing.assert_allclose(
        estimator.get_variable_value("model/w"), regression.trained(4, 2)[0], rtol=1e-5
    )


def test_replicas_that_exchange_nothing_are_refused(regression: Any, config: Any) -> None:
    estimator = IPUEstimator(regression.model_fn(), config=config(2, 2))
    with pytest.raises(ValueError, match=r"not a valid replicated training graph.*CrossReplicaOptimizer"):
        estimator.train(regression.input_fn(), steps=2)


def test_metrics_of_the_device_are_means_over_replicas(regression: Any, config: Any) -> None:
    estimator = IPUEstimator(regression.model_fn(), config=config(3, 2))
    results = estimator.evaluate(regression.input_fn(), steps=12)
    weights, _ = regression.trained(0)
    difference = regression.x @ weights - regression.y
    assert results["error"] == pytest.approx(np.mean(np.abs(difference)), rel=1e-5)
    assert results["loss"] == pytest.approx(np.mean(difference**2), rel=1e-5)


def test_predictions_come_in_the_order_of_the_data(regression: Any, config: Any) -> None:
    estimator = IPUEstimator(regression.model_fn(), config=config(3, 2))
    expected = regression.x @ regression.trained(0)[0]
    given = list(estimator.predict(regression.input_fn(), num_predictions=24))
    assert [each.shape for each in given] == [(2, 1)] * 24  # the batch of each replica
    np.testing.assert_allclose(np.concatenate(given), expected, rtol=1e-5)
    loops = list(estimator.predict(regression.input_fn(), yield_single_examples=False, num_predictions=12))
    assert [each.shape for each in loops] == [(2, 2, 1)] * 12  # replicas, batch
    np.testing.assert_allclose(np.reshape(loops, (-1, 1)), expected, rtol=1e-5)


def test_a_model_may_be_spread_over_ipus(regression: Any, config: Any) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        with ipu.scopes.ipu_shard(0):
            predictions = regression.predicted(features)
        with ipu.scopes.ipu_shard(1):
            loss = tf.reduce_mean(tf.square(predictions - labels))
        inner = ipu.optimizers.ShardedOptimizer(tf.compat.v1.train.GradientDescentOptimizer(0.1))
        train_op = ipu.optimizers.CrossReplicaOptimizer(inner).minimize(loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    estimator = IPUEstimator(model_fn, config=config(2, replicas=2, shards=2))
    estimator.train(regression.input_fn(), steps=4)
    np.testing.assert_allclose(
        estimator.get_variable_value("model/w"), regression.trained(4, 2)[0], rtol=1e-5
    )


def test_the_estimator_configures_the_ipus(regression: Any, config: Any) -> None:
    model = regression.model_fn(ipu.optimizers.CrossReplicaOptimizer)
    IPUEstimator(model, config=config(1, replicas=2)).train(regression.input_fn(), steps=1)
    assert ipu.utils.get_num_of_ipus_in_device("/device:IPU:0") == 2


@pytest.mark.parametrize(("ipus", "replicas"), [([1, 2], 2), ([2, 1], 1)])
def test_the_second_device_has_replicas_of_its_own(
    regression: Any, tmp_path: Any, ipus: list[int], replicas: int
) -> None:
    options = ipu.config.IPUConfig()
    options.auto_select_ipus = ipus
    run_config = ipu.ipu_run_config.RunConfig(
        ipu_run_config=ipu.ipu_run_config.IPURunConfig(
            iterations_per_loop=2, num_replicas=replicas, ordinal=1, ipu_options=options
        ),
        model_dir=str(tmp_path),
    )
    model = regression.model_fn(ipu.optimizers.CrossReplicaOptimizer)
    estimator = IPUEstimator(model, config=run_config)
    estimator.train(regression.input_fn(), steps=4)
    np.testing.assert_allclose(
        estimator.get_variable_value("model/w"), regression.trained(4, replicas)[0], rtol=1e-5
    )


def test_a_model_may_be_spread_over_ipus_of_the_second_device(regression: Any, tmp_path: Any) -> None:
    options = ipu.config.IPUConfig()
    options.auto_select_ipus = [1, 4]
    run_config = ipu.ipu_run_config.RunConfig(
        ipu_run_config=ipu.ipu_run_config.IPURunConfig(
            iterations_per_loop=2, num_shards=2, num_replicas=2, ordinal=1, ipu_options=options
        ),
        model_dir=str(tmp_path),
    )
    plain = regression.model_fn(ipu.optimizers.CrossReplicaOptimizer)

    def model(features: Any, labels: Any, mode: str) -> Any:
        with ipu.scopes.ipu_shard(1):
            return plain(features, labels, mode)

    estimator = IPUEstimator(model, config=run_config)
    estimator.train(regression.input_fn(), steps=4)
    np.testing.assert_allclose(
        estimator.get_variable_value("model/w"), regression.trained(4, 2)[0], rtol=1e-5
    )


def test_a_program_may_configure_one_ipu_itself(regression: Any, tmp_path: Any) -> None:
    options = ipu.config.IPUConfig()
    options.auto_select_ipus = 1
    options.configure_ipu_system()
    run_config = ipu.ipu_run_config.RunConfig(model_dir=str(tmp_path))
    estimator = IPUEstimator(regression.model_fn(), config=run_config)
    estimator.train(regression.input_fn(), steps=2)
    np.testing.assert_allclose(estimator.get_variable_value("model/w"), regression.trained(2)[0], rtol=1e-5)
