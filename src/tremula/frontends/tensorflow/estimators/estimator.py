"""`IPUEstimator`: trains, evaluates and predicts with a model that loops on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorflow.python.util import function_utils

from tremula.frontends.tensorflow.estimators import step_programs
from tremula.frontends.tensorflow.estimators.base import DeviceEstimator
from tremula.frontends.tensorflow.estimators.batch_sizes import BatchSizes
from tremula.frontends.tensorflow.estimators.model_call import ModelCall
from tremula.frontends.tensorflow.estimators.run_config import RunConfig
from tremula.frontends.tensorflow.estimators.stock import model_fn as stock_model_fn


class IPUEstimator(DeviceEstimator):
    """An estimator whose model runs on IPUs.

    Each replica takes one element of the dataset for a step. To train with several, wrap the optimizer of the model in
    a `CrossReplicaOptimizer`. A model may be spread over IPUs with `ipu.scopes.ipu_shard`.

    Args:
        model_fn: gets features, labels, mode, params and config, as far as it names them; gives an `EstimatorSpec` or
            `IPUEstimatorSpec`.
        model_dir: where checkpoints and summaries go; a new folder by default.
        config: an `ipu_run_config.RunConfig`.
        params: parameters for `model_fn` and input functions.
        warm_start_from: a checkpoint, or `tf.estimator.WarmStartSettings`, for the first values of variables.
        train_batch_size: the batch size of all replicas together; functions get `params['batch_size']` of one replica.
        eval_batch_size: the same for evaluation.
        predict_batch_size: the same for prediction.

    Raises:
        ValueError: an argument is of another kind, or numbers do not fit together.
        NotImplementedError: several iterations with a distribution strategy.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any = None,
        config: RunConfig | None = None,
        params: dict[str, Any] | None = None,
        warm_start_from: Any = None,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
    ) -> None:
        stock_model_fn.verify_model_fn_args(model_fn, params)
        sizes = BatchSizes(train_batch_size, eval_batch_size, predict_batch_size)
        super().__init__(model_fn, model_dir, config, params, warm_start_from, sizes)

    def _program(self, call: ModelCall) -> Any:
        return step_programs.build(call)

    def _plain_model(self, features: Any, labels: Any, mode: str, params: Any, config: Any) -> Any:
        known = {"labels": labels, "mode": mode, "params": params, "config": config}
        names = function_utils.fn_args(self._user_model_fn)
        spec = self._user_model_fn(
            features=features, **{name: known[name] for name in known if name in names}
        )
        return step_programs.without_device(spec)

    def _check_distribution(self, config: RunConfig) -> None:
        iterations = config.ipu_run_config.iterations_per_loop
        if iterations > 1 and (config.train_distribute or config.eval_distribute):
            raise NotImplementedError(
                f"iterations_per_loop > 1 (got {iterations}) not supported with distribution: set it to 1."
            )
