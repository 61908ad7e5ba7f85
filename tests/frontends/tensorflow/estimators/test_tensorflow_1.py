"""Estimators in programs of TensorFlow 1: without the behaviour of TensorFlow 2, in a process of their own."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
from tensorflow.python import ipu

def model_fn(features, labels, mode):
    weight = tf.get_variable("w", initializer=1.0)
    loss = tf.reduce_mean(weight * features)
    train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train_op, predictions=weight * features,
        eval_metric_ops={"mean": tf.metrics.mean(weight * features)})

def input_fn():
    return tf.data.Dataset.from_tensor_slices((np.ones([8, 1], np.float32), np.ones([8, 1], np.float32)))

config = ipu.ipu_run_config.RunConfig(ipu_run_config=ipu.ipu_run_config.IPURunConfig(iterations_per_loop=2))
estimator = ipu.ipu_estimator.IPUEstimator(model_fn, config=config)
estimator.train(input_fn, steps=2)
estimator.train(input_fn, steps=2)
print(estimator.get_variable_value("w"), estimator.get_variable_value("global_step"))
print(estimator.evaluate(input_fn, steps=4)["mean"], next(estimator.predict(input_fn)))
"""


def test_a_program_trains_evaluates_and_predicts() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    # four steps of 0.5 down from 1, on the device's own variables
    assert done.stdout.split() == ["-1.0", "4", "-1.0", "-1.0"]
