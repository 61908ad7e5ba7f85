"""Estimators whose models are pipelines: numbers of training, evaluation and prediction, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

IPUPipelineEstimator = ipu.ipu_pipeline_estimator.IPUPipelineEstimator
Spec = ipu.ipu_pipeline_estimator.IPUPipelineEstimatorSpec
Method = ipu.gradient_accumulation.GradientAccumulationReductionMethod
COUNT = 4


def pipelined(
    regression: Any, wrap: Callable[[Any], Any] = lambda optimizer: optimizer, **kwargs: Any
) -> Callable[[str], Any]:
    """The regression in two stages."""

    def model_fn(mode: str) -> Any:
        def multiply(features: Any, labels: Any) -> Any:
            return regression.predicted(features), labels

        def compare(predictions: Any, labels: Any) -> Any:
            if mode == tf.estimator.ModeKeys.PREDICT:
                return predictions
            return tf.reduce_mean(tf.square(predictions - labels))

        def optimizer_function(loss: Any) -> Any:
            optimizer = wrap(tf.compat.v1.train.GradientDescentOptimizer(0.1))
            return ipu.pipelining_ops.OptimizerFunctionOutput(optimizer, loss)

        arguments = {
            "computational_stages": [multiply, compare],
            "gradient_accumulation_count": COUNT,
            "optimizer_function": optimizer_function,
            "eval_metrics_fn": lambda loss: {
                "loss": loss,
                "largest": tf.compat.v1.metrics.mean(tf.reduce_max(loss)),
            },
        }
        return Spec(mode, **{**arguments, **kwargs})

    return model_fn


@pytest.mark.parametrize("updates", [1, 2])
@pytest.mark.parametrize("method", list(Method))
def test_a_loop_does_whole_updates_and_reports_the_mean_loss(
    regression: Any, config: Any, summaries: Any, method: Any, updates: int
) -> None:
    # a sum of gradients is as large as their mean with a fourth of the rate
    scale = 1.0 / COUNT if method is Method.SUM else 1.0
    model = pipelined(
        regression,
        lambda _: tf.compat.v1.train.GradientDescentOptimizer(0.1 * scale),
        reduction_method=method,
    )
    estimator = IPUPipelineEstimator(model, config=config(COUNT * updates, shards=2))
    estimator.train(regression.input_fn(), steps=COUNT * 2)
    # an update is a step with the mean of as many gradients
    weights, losses = regression.trained(2, COUNT)
    np.testing.assert_allclose(estimator.get_variable_value("model/w"), weights, rtol=1e-5)
    assert estimator.get_variable_value("global_step") == COUNT * 2
    expected = np.mean(np.reshape(losses, (-1, updates)), axis=1)
    np.testing.assert_allclose(summaries(estimator.model_dir), expected, rtol=1e-5)


def test_replicas_of_a_pipeline_train_with_the_mean_of_their_gradients(
    regression: Any, config: Any, summaries: Any
) -> None:
    model = pipelined(regression, ipu.optimizers.CrossReplicaOptimizer, reduction_method=Method.MEAN)
    estimator = IPUPipelineEstimator(model, config=config(COUNT, replicas=2, shards=2))
    estimator.train(regression.input_fn(), steps=COUNT * 2)
    weights, losses = regression.trained(2, 2 * COUNT)
    np.testing.assert_allclose(estimator.get_variable_value("model/w"), weights, rtol=1e-5)
    np.testing.assert_allclose(summaries(estimator.model_dir), losses, rtol=1e-5)


def test_losses_may_be_added_up_in_another_type(regression: Any, config: Any, summaries: Any) -> None:
    def halves(mode: str) -> Any:
        def large(features: Any, labels: Any) -> Any:
            weight = tf.compat.v1.get_variable("w", initializer=np.float16(1.0), dtype=tf.float16)
            return weight * tf.constant(30000.0, tf.float16) + 0 * tf.cast(features[0, 0], tf.float16)

        return Spec(
            mode,
            computational_stages=[large, tf.identity],
            gradient_accumulation_count=COUNT,
            optimizer_function=lambda loss: ipu.pipelining_ops.OptimizerFunctionOutput(
                tf.compat.v1.train.GradientDescentOptimizer(0.0), loss
            ),
            loss_accumulator_dtype=tf.float32,
        )

    estimator = IPUPipelineEstimator(halves, config=config(COUNT, shards=2))
    estimator.train(regression.input_fn(), steps=COUNT)
    assert summaries(estimator.model_dir) == [30000.0]


def test_evaluation_gets_the_results_of_all_micro_batches(regression: Any, config: Any) -> None:
    estimator = IPUPipelineEstimator(pipelined(regression), config=config(COUNT * 2, shards=2))
    results = estimator.evaluate(regression.input_fn(), steps=24)
    losses = [regression.loss_and_gradient(regression.trained(0)[0], b)[0] for b in regression.batches()]
    assert results["loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    largest = np.mean(np.max(np.reshape(losses, (3, -1)), axis=1))
    assert results["largest"] == pytest.approx(largest, rel=1e-5)


def test_predictions_come_in_the_order_of_the_data(regression: Any, config: Any) -> None:
    estimator = IPUPipelineEstimator(pipelined(regression), config=config(COUNT, shards=2))
    given = list(estimator.predict(regression.input_fn(), num_predictions=16))
    np.testing.assert_allclose(given, (regression.x @ regression.trained(0)[0])[:16], rtol=1e-5)


def test_the_first_stage_may_get_further_inputs(regression: Any, config: Any) -> None:
    def model_fn(mode: str) -> Any:
        step = tf.cast(tf.compat.v1.train.get_global_step(), tf.float32)
        return Spec(
            mode,
            computational_stages=[lambda step, features, labels: step, tf.identity],
            gradient_accumulation_count=2,
            inputs=[step],
        )

    estimator = IPUPipelineEstimator(model_fn, config=config(2, shards=2))
    given = estimator.predict(regression.input_fn(), yield_single_examples=False, num_predictions=2)
    assert list(given) == [0.0, 0.0]


def test_hooks_of_the_model_are_used(regression: Any, config: Any) -> None:
    class Counted(tf.compat.v1.train.SessionRunHook):
        runs = 0

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.runs += 1

    hooks = {name: Counted() for name in ("training_hooks", "evaluation_hooks", "prediction_hooks")}
    model = pipelined(regression, **{name: [hook] for name, hook in hooks.items()})
    estimator = IPUPipelineEstimator(model, config=config(COUNT, shards=2))
    estimator.train(regression.input_fn(), steps=COUNT)
    estimator.evaluate(regression.input_fn(), steps=COUNT)
    next(estimator.predict(regression.input_fn()))
    assert [hook.runs for hook in hooks.values()] == [1, 1, 1]


class TestRefusals:
    def train(self, regression: Any, run_config: Any, model_fn: Any = None, **kwargs: Any) -> None:
        model = pipelined(regression, **kwargs) if model_fn is None else model_fn
        steps = run_config.ipu_run_config.iterations_per_loop
        IPUPipelineEstimator(model, config=run_config).train(regression.input_fn(), steps=steps)

    @pytest.mark.parametrize(
        ("iterations", "text"),
        [
            (2, r"\(got 2\) cannot be less than .* \(got 4\)"),
            (6, r"\(got 6\) must be divisible by .* \(got 4\)"),
        ],
    )
    def test_loops_that_end_amid_an_update(
        self, regression: Any, config: Any, iterations: int, text: str
    ) -> None:
        with pytest.raises(ValueError, match=text):
            self.train(regression, config(iterations, shards=2))

    @pytest.mark.parametrize(
        ("shards", "mapping", "needed"), [(4, [0, 1], 2), (4, None, 2), (1, [0, 1], 2), (2, [0, 0], 1)]
    )
    def test_stages_on_other_ipus_than_there_are(
        self, regression: Any, config: Any, shards: int, mapping: Any, needed: int
    ) -> None:
        text = f"requires {needed} devices, but `IPURunConfig.num_shards` was set to {shards}"
        with pytest.raises(ValueError, match=text):
            self.train(regression, config(COUNT, shards=shards), device_mapping=mapping)

    def test_a_model_function_that_takes_features(self, regression: Any, config: Any) -> None:
        with pytest.raises(ValueError, match="must not have `features` or `labels` arguments"):
            self.train(regression, config(COUNT, shards=2), lambda features, mode: None)

    def test_a_model_function_that_gives_something_else(self, regression: Any, config: Any) -> None:
        with pytest.raises(TypeError, match="must return `IPUPipelineEstimatorSpec`"):
            self.train(regression, config(COUNT, shards=2), lambda mode: None)

    @pytest.mark.parametrize(
        ("mode", "missing"),
        [
            ("train", "optimizer_function"),
            ("eval", "eval_metrics_fn"),
            ("infer", "gradient_accumulation_count"),
        ],
    )
    def test_what_a_mode_needs(self, mode: str, missing: str) -> None:
        arguments = {
            "gradient_accumulation_count": 4,
            "optimizer_function": max,
            "eval_metrics_fn": max,
            missing: None,
        }
        with pytest.raises(ValueError, match=f"(contain|needs) `{missing}`"):
            Spec(mode, computational_stages=[], **arguments)

    def test_the_outfeed_is_the_estimators(self) -> None:
        with pytest.raises(ValueError, match="sets `accumulate_outfeed` itself"):
            Spec("infer", [], gradient_accumulation_count=4, accumulate_outfeed=True)

    def test_metrics_without_a_loss(self, regression: Any, config: Any) -> None:
        def evaluate(metrics: Any) -> None:
            model = pipelined(regression, eval_metrics_fn=lambda loss: metrics)
            estimator = IPUPipelineEstimator(model, config=config(COUNT, shards=2))
            estimator.evaluate(regression.input_fn(), steps=COUNT)

        with pytest.raises(TypeError, match="must return a dict, and it returned list"):
            evaluate([])
        with pytest.raises(KeyError, match="must contain 'loss'"):
            evaluate({"other": 1})

    def test_several_predictions_without_names(self, regression: Any, config: Any) -> None:
        def model_fn(mode: str) -> Any:
            stages = [lambda features, labels: features, lambda features: (features, features)]
            return Spec(mode, stages, gradient_accumulation_count=2)

        estimator = IPUPipelineEstimator(model_fn, config=config(2, shards=2))
        with pytest.raises(ValueError, match="exactly one prediction tensor"):
            next(estimator.predict(regression.input_fn()))

    def test_an_export(self, regression: Any, config: Any, tmp_path: Any) -> None:
        def receiver() -> Any:
            given = tf.compat.v1.placeholder(tf.float32, [None, 3])
            return tf.estimator.export.TensorServingInputReceiver(given, given)

        estimator = IPUPipelineEstimator(pipelined(regression), config=config(COUNT, shards=2))
        estimator.train(regression.input_fn(), steps=COUNT)
        with pytest.raises(NotImplementedError, match="cannot be exported"):
            estimator.export_saved_model(str(tmp_path / "export"), receiver)
