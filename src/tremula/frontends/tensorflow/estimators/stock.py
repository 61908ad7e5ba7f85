"""The stock estimators that ours are built on. TensorFlow 2.15 is the last release that has them."""

from __future__ import annotations

try:
    from tensorflow_estimator.python.estimator import estimator, model_fn, run_config, util
except ImportError as problem:
    raise ImportError(
        "Estimators need TensorFlow 2.15, which runs on Python 3.11: later releases have none. Train the model with "
        "Keras under an IPUStrategy, or install 'tremula[tensorflow]' on Python 3.11."
    ) from problem

__all__ = ["estimator", "model_fn", "run_config", "util"]
