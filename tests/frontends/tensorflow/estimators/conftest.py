"""A linear regression as an estimator's model, its data, and what NumPy makes of it."""

from __future__ import annotations

import glob
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("tensorflow_estimator") is None:
    collect_ignore_glob = ["*"]  # TensorFlow 2.15 is the last release with estimators
else:
    import tensorflow as tf
    from tensorflow.python import ipu
    from tensorflow.python.summary import summary_iterator

RATE = 0.1
START = np.array([[0.5], [-0.25], [1.0]], np.float32)


class Regression:
    """Data of 48 samples in batches, a model with one weight matrix, and its training by hand."""

    def __init__(self) -> None:
        random = np.random.default_rng(7)
        self.x = random.normal(size=(48, 3)).astype(np.float32)
        self.y = random.normal(size=(48, 1)).astype(np.float32)
        self.batch = 2

    def input_fn(self, skip: int = 0) -> Callable[[], Any]:
        """An input function; it leaves out the first batches."""

        def give() -> Any:
            whole = tf.data.Dataset.from_tensor_slices((self.x, self.y))
            return whole.batch(self.batch, drop_remainder=True).skip(skip)

        return give

    @staticmethod
    def predicted(features: Any) -> Any:
        """What the model makes of features."""
        with tf.compat.v1.variable_scope("model", use_resource=True):
            weights = tf.compat.v1.get_variable("w", initializer=START)
        return tf.matmul(features, weights)

    def model_fn(self, wrap: Callable[[Any], Any] = lambda optimizer: optimizer) -> Callable[..., Any]:
        """A model function; `wrap` is given its optimizer."""

        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            predictions = self.predicted(features)
            if mode == tf.estimator.ModeKeys.PREDICT:
                return tf.estimator.EstimatorSpec(mode, predictions=predictions)
            loss = tf.reduce_mean(tf.square(predictions - labels))
            optimizer = wrap(tf.compat.v1.train.GradientDescentOptimizer(RATE))
            error = tf.compat.v1.metrics.mean_absolute_error(labels, predictions)
            return tf.estimator.EstimatorSpec(
                mode, loss=loss, train_op=optimizer.minimize(loss), eval_metric_ops={"error": error}
            )

        return model_fn

    def batches(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The batches of the dataset, in order."""
        count = len(self.x) // self.batch
        return list(zip(np.split(self.x, count), np.split(self.y, count), strict=True))

    @staticmethod
    def loss_and_gradient(
        weights: np.ndarray, batch: tuple[np.ndarray, np.ndarray]
    ) -> tuple[float, np.ndarray]:
        """Of one batch, by hand."""
        x, y = batch
        difference = x @ weights - y
        return float(np.mean(difference**2)), 2 * x.T @ difference / len(x)

    def trained(self, steps: int, replicas: int = 1) -> tuple[np.ndarray, list[float]]:
        """Weights after steps with the mean of the replicas' gradients; and the mean loss of each step."""
        weights, losses, batches = START, [], iter(self.batches())
        for _ in range(steps):
            results = [self.loss_and_gradient(weights, next(batches)) for _ in range(replicas)]
            losses.append(float(np.mean([loss for loss, _ in results])))
            weights = weights - RATE * np.mean([gradient for _, gradient in results], axis=0)
        return weights, losses


@pytest.fixture
def regression() -> Regression:
    return Regression()


@pytest.fixture(autouse=True)
def _nothing_configured() -> Iterator[None]:
    yield
    ipu.config.reset_ipu_configuration()


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Any]:
    """Makes a `RunConfig`: iterations of a loop, replicas, shards, and arguments of the stock class."""

    def make(iterations: int = 1, replicas: int = 1, shards: int = 1, **kwargs: Any) -> Any:
        options = ipu.config.IPUConfig()
        options.auto_select_ipus = replicas * shards
        return ipu.ipu_run_config.RunConfig(
            ipu_run_config=ipu.ipu_run_config.IPURunConfig(
                iterations_per_loop=iterations,
                num_replicas=replicas,
                num_shards=shards,
                ipu_options=options,
            ),
            **{"model_dir": str(tmp_path / "model"), "save_summary_steps": 1, **kwargs},
        )

    return make


@pytest.fixture
def summaries() -> Callable[..., list[float]]:
    """Reads the values of a tag from the event file in a folder."""

    def read(folder: str, tag: str = "loss") -> list[float]:
        return [
            value.simple_value
            for file in sorted(glob.glob(f"{folder}/*tfevents*"))
            for event in summary_iterator.summary_iterator(file)
            for value in event.summary.value
            if value.tag == tag
        ]

    return read
