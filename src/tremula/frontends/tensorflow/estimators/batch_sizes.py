"""Batch sizes of all replicas and workers together, and what is left of them for one replica."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.util import function_utils

from tremula.frontends.tensorflow.estimators.run_config import RunConfig

#: the parameter that input functions and model functions get
BATCH_SIZE = "batch_size"


@dataclass(frozen=True)
class BatchSizes:
    """The arguments of an estimator; None: the program chooses its batches itself."""

    train_batch_size: int | None = None
    eval_batch_size: int | None = None
    predict_batch_size: int | None = None

    @property
    def given(self) -> bool:
        """Whether there is any."""
        return any(size is not None for _, size, _ in self._modes())

    def check(self, params: dict[str, Any] | None, config: RunConfig) -> None:
        """Refuse sizes that cannot be divided evenly, and parameters that would contradict them.

        Raises:
            ValueError: with the numbers.
        """
        if self.given and BATCH_SIZE in (params or {}):
            raise ValueError(
                f"{BATCH_SIZE} cannot be passed in params when a batch size argument is passed: the estimator sets it."
            )
        for mode, _, _ in self._modes():
            self._divided(mode, config)

    def of_replica(self, mode: str, input_fn: Callable[..., Any], config: RunConfig) -> int | None:
        """The batch size of one replica; None if none was given for this mode.

        Raises:
            ValueError: the input function could not know it.
        """
        size = self._divided(mode, config)
        if size is not None and "params" not in function_utils.fn_args(input_fn):
            raise ValueError(
                f"input_fn must have params argument to receive params['{BATCH_SIZE}'], because the estimator has a "
                "batch size argument."
            )
        return size

    def _modes(self) -> list[tuple[str, int | None, str]]:
        keys = tf.estimator.ModeKeys
        return [
            (keys.TRAIN, self.train_batch_size, "train_batch_size"),
            (keys.EVAL, self.eval_batch_size, "eval_batch_size"),
            (keys.PREDICT, self.predict_batch_size, "predict_batch_size"),
        ]

    def _divided(self, wanted: str, config: RunConfig) -> int | None:
        size, name = next((size, name) for mode, size, name in self._modes() if mode == wanted)
        if size is None:
            return None
        if size < 1:
            raise ValueError(f"{name} (got {size}) must be positive.")
        workers, replicas = _workers(wanted, config), config.ipu_run_config.num_replicas
        if size % (workers * replicas):
            raise ValueError(
                f"{name} (got {size}) must be divisible by num_workers * num_replicas ({workers} * {replicas}): it is "
                "the batch of all of them together."
            )
        return size // (workers * replicas)


def _workers(mode: str, config: RunConfig) -> int:
    """How many processes share the batches of a mode."""
    keys = tf.estimator.ModeKeys
    strategy = {keys.TRAIN: config.train_distribute, keys.EVAL: config.eval_distribute}.get(mode)
    return int(strategy.num_replicas_in_sync) if strategy else 1
