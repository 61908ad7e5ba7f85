"""Estimators as the chip model sees them: each call of train, evaluate and predict is a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula.program.op import Phase

from .asked import answer_of, asked, cycles, read, trained_names, v1

ITERATIONS, SAMPLES = 8, 4


def layer(features: Any) -> Any:
    with v1.variable_scope("dense", use_resource=True):
        return features @ v1.get_variable("w", [8, 2])


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    """A linear model."""
    predictions = layer(features)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": predictions})
    loss = tf.reduce_mean(tf.square(predictions - labels))
    train = v1.train.AdamOptimizer(0.1).minimize(loss) if mode == tf.estimator.ModeKeys.TRAIN else None
    metrics = {"error": v1.metrics.mean(loss)} if mode == tf.estimator.ModeKeys.EVAL else None
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metrics)


def input_fn() -> Any:
    elements = np.ones([SAMPLES, 8], np.float32), np.ones([SAMPLES, 2], np.float32)
    return tf.data.Dataset.from_tensors(elements).repeat()


def run_config(folder: Path, shards: int = 1) -> Any:
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = shards
    used = ipu.ipu_run_config.IPURunConfig(
        iterations_per_loop=ITERATIONS, num_shards=shards, ipu_options=config
    )
    return ipu.ipu_run_config.RunConfig(ipu_run_config=used, model_dir=str(folder))


def test_training_is_a_program_of_so_many_steps(tmp_path: Path) -> None:
    with asked() as found:
        estimator = ipu.ipu_estimator.IPUEstimator(model_fn, config=run_config(tmp_path))
        estimator.train(input_fn, steps=ITERATIONS)
    (subject,) = found
    assert subject.name == "model_fn (train)"
    assert subject.loops.device_iterations == ITERATIONS
    assert subject.micro_batch == SAMPLES
    assert trained_names(subject) == {"dense/w"}
    answer = answer_of(subject)
    assert cycles(answer, Phase.UPDATE) > 0
    # lines are those of the model function, not of the estimator's package
    assert {node.source.file for node in read(subject).nodes if node.source is not None} == {__file__}


@pytest.mark.parametrize("mode", ["eval", "infer"])
def test_evaluation_and_prediction_are_inference(tmp_path: Path, mode: str) -> None:
    estimator = ipu.ipu_estimator.IPUEstimator(model_fn, config=run_config(tmp_path))
    estimator.train(input_fn, steps=ITERATIONS)
    with asked() as found:
        if mode == "eval":
            estimator.evaluate(input_fn, steps=ITERATIONS)
        else:
            next(iter(estimator.predict(input_fn)))
    (subject,) = found
    assert subject.name == f"model_fn ({mode})"
    assert not subject.training
    assert {node.phase for node in read(subject).nodes} == {Phase.FORWARD}
    assert answer_of(subject).result.runs


def test_a_pipeline_estimator_has_stages_and_accumulates(tmp_path: Path) -> None:
    def pipelined(mode: str) -> Any:
        def optimizer_function(loss: Any) -> Any:
            optimizer = v1.train.GradientDescentOptimizer(0.1)
            return ipu.pipelining_ops.OptimizerFunctionOutput(optimizer, loss)

        return ipu.ipu_pipeline_estimator.IPUPipelineEstimatorSpec(
            mode,
            computational_stages=[
                lambda features, labels: (layer(features), labels),
                lambda predictions, labels: tf.reduce_mean(tf.square(predictions - labels)),
            ],
            gradient_accumulation_count=ITERATIONS,
            optimizer_function=optimizer_function,
            reduction_method="mean",
        )

    with asked(2) as found:
        estimator = ipu.ipu_pipeline_estimator.IPUPipelineEstimator(
            pipelined, config=run_config(tmp_path, shards=2)
        )
        estimator.train(input_fn, steps=ITERATIONS)
    (subject,) = found
    assert (subject.loops.device_iterations, subject.loops.gradient_accumulation) == (1, ITERATIONS)
    answer = answer_of(subject)
    assert answer.estimate is not None
    assert answer.estimate.deployment.execution == "pipelined"
    assert answer.estimate.deployment.ipus_per_replica == 2
