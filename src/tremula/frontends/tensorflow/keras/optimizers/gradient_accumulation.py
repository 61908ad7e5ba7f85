"""An optimizer that applies gradients once for several mini-batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.config.messages import ThreeState
from tremula.frontends.tensorflow.keras.optimizers.wrapper import OptimizerWrapper
from tremula.frontends.tensorflow.pipeline import accumulate
from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod


class GradientAccumulationOptimizer(OptimizerWrapper):
    """Accumulates the gradients of mini-batches and applies them after the last one.

    With one mini-batch the inner optimizer itself is what the constructor gives. Accumulators are not part of the
    optimizer's weights or of a checkpoint.

    Args:
        opt: the optimizer that applies the gradients.
        num_mini_batches: how many mini-batches there are for an update.
        offload_weight_update_variables: recorded for the chip model: whether state that only the update uses is in
            remote memory.
        replicated_optimizer_state_sharding: recorded for the chip model: whether replicas share such state.
        dtype: the type of the accumulators, or a function from a variable to it; None is the type of the variable.
        reduction_method: whether gradients are added up or averaged.
        name: the name of the optimizer.

    Raises:
        ValueError: there is no mini-batch, or no such reduction method.
    """

    def __new__(cls, opt: Any = None, num_mini_batches: int = 0, *args: Any, **kwargs: Any) -> Any:
        """The inner optimizer if there is one mini-batch."""
        return kwargs.get("als_optimizer", opt) if num_mini_batches == 1 else super().__new__(cls)

    def __init__(
        self,
        opt: Any,
        num_mini_batches: int,
        offload_weight_update_variables: bool | None = None,
        replicated_optimizer_state_sharding: bool = False,
        dtype: Any = None,
        reduction_method: Any = GradientAccumulationReductionMethod.SUM,
        name: str = "GradientAccumulationOptimizer",
    ) -> None:
        if num_mini_batches < 1:
            raise ValueError(f"num_mini_batches must be >= 1, but it is {num_mini_batches}.")
        super().__init__(opt, name=name)
        self._num_mini_batches = num_mini_batches
        undefined = ThreeState.Name(ThreeState.THREESTATE_UNDEFINED)
        self._offload_weight_update_variables = self.bool_to_three_state(
            offload_weight_update_variables, undefined
        )
        self._replicated_optimizer_state_sharding = self.bool_to_three_state(
            replicated_optimizer_state_sharding, self._offload_weight_update_variables
        )
        self._dtype = dtype
        self._reduction_method = GradientAccumulationReductionMethod.parse(reduction_method)
        self._count: Any = None
        self._accumulators: dict[Any, Any] = {}

    @staticmethod
    def bool_to_three_state(value: Any, default: str) -> str:
        """The name of on or off; the default for None. A name is given back."""
        if value is None:
            return default
        if isinstance(value, str) and value.startswith("THREESTATE_"):
            return value
        return ThreeState.Name(ThreeState.THREESTATE_ON if value else ThreeState.THREESTATE_OFF)

    def apply_gradients(
        self, grads_and_vars: Any, name: str | None = None, experimental_aggregate_gradients: bool = True
    ) -> Any:
        """Accumulate the gradients of a mini-batch; update variables after the last one."""
        return self._accumulate(
            grads_and_vars,
            lambda accumulated: self._opt.apply_gradients(
                accumulated, name=name, experimental_aggregate_gradients=experimental_aggregate_gradients
            ),
        )

    def _accumulate(self, grads_and_vars: Iterable[Any], apply: Callable[[list[Any]], Any]) -> Any:
        """Add gradients to the accumulators; after the last mini-batch apply those and empty them."""
        pairs = [(accumulate.dense(grad), variable) for grad, variable in grads_and_vars if grad is not None]
        variables = [variable for _, variable in pairs]
        with tf.init_scope():
            self._create_all_weights(variables)
            self._create_accumulators(variables)
        accumulators = [self._accumulators[variable.ref()] for variable in variables]
        number = tf.identity(self._count)
        added = [
            accumulator.assign(
                accumulate.combined(
                    tf.convert_to_tensor(accumulator),
                    grad,
                    self._reduction_method,
                    number,
                    self._num_mini_batches,
                )
            )
            for accumulator, (grad, _) in zip(accumulators, pairs, strict=True)
        ]

        def update() -> Any:
            gradients = [
                self._applicable(total, variable)
                for total, variable in zip(accumulators, variables, strict=True)
            ]
            applied = apply(list(zip(gradients, variables, strict=True)))
            with tf.control_dependencies([] if tf.executing_eagerly() else [applied]):
                emptied = [total.assign(tf.zeros_like(total)) for total in accumulators]
                return tf.group(*emptied, self._count.assign(0))

        def wait() -> Any:
            return tf.group(self._count.assign_add(1))

        with tf.control_dependencies([] if tf.executing_eagerly() else added):
            return tf.cond(tf.equal(number + 1, self._num_mini_batches), update, wait)

    def _create_accumulators(self, variables: Iterable[Any]) -> None:
        if self._count is None:
            self._count = tf.Variable(0, trainable=False, dtype=tf.int32, name=f"{self._name}/count")
        for variable in variables:
            if variable.ref() not in self._accumulators:
                dtype = accumulate.accumulator_dtype(variable, self._dtype)
                self._accumulators[variable.ref()] = tf.Variable(
                    tf.zeros(variable.shape, dtype),
                    trainable=False,
                    dtype=dtype,
                    name=f"{self._name}/accumulator",
                )

    def _applicable(self, accumulator: Any, variable: Any) -> Any:
        """The accumulated gradient in a type that the innermost optimizer takes."""
        innermost = self._opt
        while isinstance(innermost, OptimizerWrapper):
            innermost = innermost._opt
        takes_any = hasattr(innermost, "opt_dtypes")
        return tf.identity(accumulator) if takes_any else tf.cast(accumulator, variable.dtype)

    def get_config(self) -> dict[str, Any]:
        """What makes an equal optimizer."""
        return {
            **super().get_config(),
            "num_mini_batches": self._num_mini_batches,
            "offload_weight_update_variables": self._offload_weight_update_variables,
            "replicated_optimizer_state_sharding": self._replicated_optimizer_state_sharding,
            "dtype": self._dtype,
            "reduction_method": self._reduction_method,
        }
