"""`IPUPipelineEstimator`: trains, evaluates and predicts with a model whose stages are a pipeline over IPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tremula.frontends.tensorflow.estimators import pipeline_programs
from tremula.frontends.tensorflow.estimators.base import DeviceEstimator
from tremula.frontends.tensorflow.estimators.batch_sizes import BatchSizes
from tremula.frontends.tensorflow.estimators.model_call import ModelCall
from tremula.frontends.tensorflow.estimators.run_config import RunConfig


class IPUPipelineEstimator(DeviceEstimator):
    """An estimator whose model is a pipeline over IPUs.

    A step is one micro-batch. Each replica takes `gradient_accumulation_count` elements of the dataset for one weight
    update.

    Args:
        model_fn: gets mode, params and config, as far as it names them; gives an `IPUPipelineEstimatorSpec`. Features
            and labels go to its first stage.
        model_dir: where checkpoints and summaries go; a new folder by default.
        config: an `ipu_run_config.RunConfig`; its num_shards is the number of IPUs of the pipeline.
        params: parameters for `model_fn` and input functions.
        warm_start_from: a checkpoint, or `tf.estimator.WarmStartSettings`, for the first values of variables.

    Raises:
        ValueError: an argument is of another kind.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any = None,
        config: RunConfig | None = None,
        params: dict[str, Any] | None = None,
        warm_start_from: Any = None,
    ) -> None:
        super().__init__(model_fn, model_dir, config, params, warm_start_from, BatchSizes())

    def _program(self, call: ModelCall) -> Any:
        return pipeline_programs.build(call)

    def _plain_model(self, features: Any, labels: Any, mode: str, params: Any, config: Any) -> Any:
        raise NotImplementedError(
            "An IPUPipelineEstimator cannot be exported: its stages take the elements of an input_fn. Export the "
            "weights of the checkpoint with a model of your own, or with ipu.serving."
        )
