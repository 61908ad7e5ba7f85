"""What a Keras model under an IPUStrategy can be told besides its stages: accumulation, replicas, queues, callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula import log
from tremula.frontends.tensorflow.keras.metric_reduction import ReplicatedMetricReductionMethod
from tremula.frontends.tensorflow.keras.pipeline_options import check_steps
from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod

_untracked = tf.__internal__.tracking.no_automatic_dependency_tracking
#: options of the accumulating optimizer that change nothing on the host
_DEVICE_ONLY = ("offload_weight_update_variables", "replicated_optimizer_state_sharding")
_FROM_ELSEWHERE = {
    "opt": "This is not supported: the optimizer that the model was compiled with is wrapped.",
    "num_mini_batches": "Set the `gradient_accumulation_steps_per_replica` argument instead.",
    "experimental_normalize_gradients": "It was removed: set `gradient_accumulation_reduction_method` instead.",
    "reduction_method": "Set the `gradient_accumulation_reduction_method` argument instead.",
}


class Options:
    """The options and their setters. Each change makes new programs for the model."""

    _reset_ipu_extension: Callable[[], None]

    @_untracked
    def _init_options(self) -> None:
        self._gradient_accumulation_steps_per_replica: int | None = None
        self._gradient_accumulation_reduction_method = GradientAccumulationReductionMethod.SUM
        self._gradient_accumulation_optimizer_kwargs: dict[str, Any] = {}
        self._use_v2_gradient_accumulation_optimizer = False
        self._replicated_metric_reduction_method = ReplicatedMetricReductionMethod.NONE
        self._asynchronous_callbacks = False
        self._infeed_kwargs: dict[str, Any] = {}
        self._outfeed_kwargs: dict[str, Any] = {}

    @_untracked
    def set_asynchronous_callbacks(self, asynchronous: bool = False) -> None:
        """Set whether callbacks get the results of each step, from a thread, while an execution runs.

        Otherwise they get those of the last step after each execution. A pipelined model with `accumulate_outfeed`
        has no results of single steps, so `fit` and `evaluate` ignore this there.
        """
        self._asynchronous_callbacks = asynchronous
        self._reset_ipu_extension()

    @_untracked
    def set_replication_options(self, replicated_metric_reduction_method: Any = "NONE") -> None:
        """Set what is shown for the metrics of several replicas.

        Args:
            replicated_metric_reduction_method: a `ReplicatedMetricReductionMethod` or its name.
        """
        method = ReplicatedMetricReductionMethod.parse(replicated_metric_reduction_method)
        self._replicated_metric_reduction_method = method
        self._reset_ipu_extension()

    @_untracked
    def set_gradient_accumulation_options(
        self,
        gradient_accumulation_steps_per_replica: int | None = None,
        gradient_accumulation_reduction_method: Any = "sum",
        use_v2_gradient_accumulation_optimizer: bool = False,
        **gradient_accumulation_optimizer_kwargs: Any,
    ) -> None:
        """Set how gradients are accumulated in the training of a model that is not pipelined.

        Args:
            gradient_accumulation_steps_per_replica: steps of a replica per update of the weights; `steps_per_execution`
                must be a multiple of it. None leaves it as it is.
            gradient_accumulation_reduction_method: how gradients are combined: `sum`, `mean` or `running_mean`, or the
                enum.
            use_v2_gradient_accumulation_optimizer: whether the optimizer has to be an `OptimizerV2` (the real stack
                accumulates in a wrapper for those then). Results are the same.
            **gradient_accumulation_optimizer_kwargs: `dtype` of the accumulators, a type or a function of the variable;
                `offload_weight_update_variables` and `replicated_optimizer_state_sharding` are kept for the chip model.
                They are not saved with the model.

        Raises:
            ValueError: a value is of the wrong kind, or an option cannot be given here.
        """
        method = GradientAccumulationReductionMethod.parse(gradient_accumulation_reduction_method)
        options = gradient_accumulation_optimizer_kwargs
        for name, reason in _FROM_ELSEWHERE.items():
            if name in options:
                raise ValueError(f"Found `{name}` key in `gradient_accumulation_optimizer_kwargs`. {reason}")
        unknown = sorted(set(options) - {"dtype", "name", *_DEVICE_ONLY})
        if unknown:
            raise TypeError(
                f"set_gradient_accumulation_options has no option {', '.join(unknown)}; besides its own arguments it "
                f"takes dtype, {' and '.join(_DEVICE_ONLY)}."
            )
        if gradient_accumulation_steps_per_replica is not None:
            check_steps(gradient_accumulation_steps_per_replica)
            self._gradient_accumulation_steps_per_replica = gradient_accumulation_steps_per_replica
        for name in _DEVICE_ONLY:
            if name in options:
                log.recorded(f"set_gradient_accumulation_options({name}=...)")
        self._gradient_accumulation_reduction_method = method
        self._gradient_accumulation_optimizer_kwargs = options
        self._use_v2_gradient_accumulation_optimizer = use_v2_gradient_accumulation_optimizer
        self._reset_ipu_extension()

    @_untracked
    def set_infeed_queue_options(self, **kwargs: Any) -> None:
        """Set options of the `IPUInfeedQueue`s that give data to the model.

        They hold for data from datasets. Arrays are on the device as a whole and need no queue.
        """
        _check_queue_options(
            kwargs, automatic=("dataset", "infeed_spec", "element_spec"), refused=("_internal_id",)
        )
        self._infeed_kwargs = kwargs
        self._reset_ipu_extension()

    @_untracked
    def set_outfeed_queue_options(self, **kwargs: Any) -> None:
        """Set options of the `IPUOutfeedQueue`s that give results of single steps to asynchronous callbacks."""
        _check_queue_options(kwargs, automatic=(), refused=("outfeed_mode", "device_ordinal"))
        self._outfeed_kwargs = kwargs
        self._reset_ipu_extension()

    # configurations

    def _get_base_config(self) -> dict[str, Any]:
        """What a configuration of the model keeps of these options."""
        return {
            "gradient_accumulation_steps_per_replica": self._gradient_accumulation_steps_per_replica,
            "gradient_accumulation_reduction_method": self._gradient_accumulation_reduction_method.value,
            "replicated_metric_reduction_method": self._replicated_metric_reduction_method.value,
            "asynchronous_callbacks": self._asynchronous_callbacks,
            "infeed_kwargs": self._infeed_kwargs,
            "outfeed_kwargs": self._outfeed_kwargs,
        }

    @_untracked
    def _from_base_config(self, config: dict[str, Any]) -> None:
        """The inverse of `_get_base_config`; what the configuration does not say stays as it is at first."""
        self._gradient_accumulation_steps_per_replica = config.get("gradient_accumulation_steps_per_replica")
        self._gradient_accumulation_reduction_method = GradientAccumulationReductionMethod(
            config.get(
                "gradient_accumulation_reduction_method", GradientAccumulationReductionMethod.SUM.value
            )
        )
        self._replicated_metric_reduction_method = ReplicatedMetricReductionMethod(
            config.get("replicated_metric_reduction_method", ReplicatedMetricReductionMethod.NONE.value)
        )
        self._asynchronous_callbacks = config.get("asynchronous_callbacks", False)
        self._infeed_kwargs = dict(config.get("infeed_kwargs", {}))
        self._outfeed_kwargs = dict(config.get("outfeed_kwargs", {}))


def _check_queue_options(
    options: dict[str, Any], automatic: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    for name in options:
        if name in automatic:
            raise ValueError(
                f"Found `{name}` key in `kwargs`. This argument is automatically set by Keras: leave it out."
            )
        if name in refused:
            raise ValueError(
                f"Found `{name}` key in `kwargs`. This argument is not compatible with Keras: leave it out."
            )
