"""Optimizers that accumulate the gradients of several iterations of a loop and then update the weights once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow import failing_ops, loops
from tremula.frontends.tensorflow.ops import facts
from tremula.frontends.tensorflow.optimizers.loop_state import current_loop
from tremula.frontends.tensorflow.optimizers.mapping import CrossReplicaOptimizer
from tremula.frontends.tensorflow.optimizers.wrapper import IpuOptimizer
from tremula.frontends.tensorflow.pipeline import accumulate
from tremula.frontends.tensorflow.pipeline import facts as pipeline_facts
from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod as Method


class GradientAccumulationOptimizerV2(IpuOptimizer):
    """Updates the weights after every `num_mini_batches` iterations of the loop that it is in.

    Args:
        opt: the optimizer to wrap.
        num_mini_batches: how many; the iterations of the loop must be a multiple.
        offload_weight_update_variables: recorded for the chip model.
        replicated_optimizer_state_sharding: recorded for the chip model.
        dtype: of the accumulators: None for that of the variable, a type, or a function from the variable to a type.
        reduction_method: how gradients are combined.
        name: of the wrapper.

    Raises:
        ValueError: arguments that make no sense.
    """

    def __init__(
        self,
        opt: Any,
        num_mini_batches: int,
        offload_weight_update_variables: bool | None = None,
        replicated_optimizer_state_sharding: bool | None = False,
        dtype: Any = None,
        reduction_method: Any = Method.SUM,
        name: str = "GradientAccumulationOptimizerV2",
    ) -> None:
        super().__init__(opt, name=name)
        self._num_mini_batches = checked_count(num_mini_batches)
        self._dtype = dtype
        self._reduction_method = Method.parse(reduction_method)
        if replicated_optimizer_state_sharding and offload_weight_update_variables is False:
            raise ValueError(
                "To use replicated_optimizer_state_sharding, optimizer state must be offloaded: leave "
                "offload_weight_update_variables out, or set it to True."
            )
        self._offload_weight_update_variables = offload_weight_update_variables
        self._replicated_optimizer_state_sharding = replicated_optimizer_state_sharding

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Accumulate; after the last iteration of a group, update the variables. Gives the operation."""
        operation = accumulate_and_apply(
            list(grads_and_vars),
            lambda pairs: self._opt.apply_gradients(pairs, global_step, name),
            self._num_mini_batches,
            self._reduction_method,
            self._dtype,
        )
        options = {
            "num_mini_batches": self._num_mini_batches,
            "offload_weight_update_variables": self._offload_weight_update_variables,
            "replicated_optimizer_state_sharding": self._replicated_optimizer_state_sharding,
        }
        return facts.record(operation, **{pipeline_facts.ACCUMULATION: options})


class CrossReplicaGradientAccumulationOptimizerV2(IpuOptimizer):
    """As `GradientAccumulationOptimizerV2`; the means over the replicas are taken once for each update.

    Args:
        opt: the optimizer to wrap.
        num_mini_batches: how many; the iterations of the loop must be a multiple.
        offload_weight_update_variables: recorded for the chip model.
        replicated_optimizer_state_sharding: recorded for the chip model.
        dtype: of the accumulators.
        reduction_method: how gradients are combined.
        name: of the wrapper.
    """

    def __init__(
        self,
        opt: Any,
        num_mini_batches: int,
        offload_weight_update_variables: bool | None = None,
        replicated_optimizer_state_sharding: bool | None = False,
        dtype: Any = None,
        reduction_method: Any = Method.SUM,
        name: str = "CrossReplicaGradientAccumulationOptimizerV2",
    ) -> None:
        inner = GradientAccumulationOptimizerV2(
            CrossReplicaOptimizer(opt),
            num_mini_batches,
            offload_weight_update_variables,
            replicated_optimizer_state_sharding,
            dtype,
            reduction_method,
            name,
        )
        super().__init__(inner, name)


class GradientAccumulationOptimizer(IpuOptimizer):
    """The first form of `GradientAccumulationOptimizerV2`: sums, for plain and momentum gradient descent.

    Args:
        opt: the optimizer to wrap.
        num_mini_batches: how many; the iterations of the loop must be a multiple.
        verify_usage: whether other optimizers are refused.
        name: of the wrapper.

    Raises:
        ValueError: arguments that make no sense.
    """

    def __init__(
        self,
        opt: Any,
        num_mini_batches: int,
        verify_usage: bool = True,
        name: str = "GradientAccumulationOptimizer",
    ) -> None:
        super().__init__(opt, name)
        self._num_mini_batches = checked_count(num_mini_batches)
        self._verify_usage = verify_usage
        if verify_usage:
            _check_supported(opt)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Accumulate; after the last iteration of a group, update the variables. Gives the operation."""
        return accumulate_and_apply(
            list(grads_and_vars),
            lambda pairs: self._opt.apply_gradients(pairs, global_step, name),
            self._num_mini_batches,
            Method.SUM,
        )


class CrossReplicaGradientAccumulationOptimizer(IpuOptimizer):
    """As `GradientAccumulationOptimizer`, with means over the replicas.

    Args:
        opt: the optimizer to wrap.
        num_mini_batches: how many; the iterations of the loop must be a multiple.
        verify_usage: whether optimizers other than plain and momentum gradient descent are refused.
        name: of the wrapper.
    """

    def __init__(
        self,
        opt: Any,
        num_mini_batches: int,
        verify_usage: bool = True,
        name: str = "CrossReplicaGradientAccumulationOptimizer",
    ) -> None:
        inner = GradientAccumulationOptimizer(opt, num_mini_batches, verify_usage)
        super().__init__(CrossReplicaOptimizer(inner), name)


def checked_count(count: int) -> int:
    """The number of micro-batches for each update.

    Raises:
        ValueError: it is less than 1.
    """
    if count < 1:
        raise ValueError(f"num_mini_batches must be a positive number. It is {count}.")
    return int(count)


def accumulate_and_apply(
    pairs: list[tuple[Any, Any]],
    apply: Callable[[list[tuple[Any, Any]]], Any],
    count: int,
    method: Method = Method.SUM,
    dtype: Any = None,
) -> Any:
    """In the body of a loop: add gradients to accumulators, and call `apply` with them after every `count` iterations.

    Args:
        pairs: gradients (None: there is none) and variables.
        apply: gets pairs of accumulated gradient and variable; what it builds runs in the last iteration of each group.
        count: iterations in a group.
        method: how gradients are combined.
        dtype: of the accumulators; see `accumulate.accumulator_dtype`.

    Returns:
        The operation of one iteration.

    Raises:
        FailedPreconditionError: it is in no loop, or the iterations of the loop are not a multiple of `count`.
    """
    loop = current_loop()
    if loop is None:
        raise tf.errors.FailedPreconditionError(
            None,
            None,
            f"Detected a gradient accumulation operation with {count} mini-batches outside of a loop. Put the training "
            f"step into ipu.loops.repeat, or into a loop of a tf.function.",
        )
    waits = _check_iterations(count)
    number = loop.counter % count
    states: list[Any] = []
    with tf.control_dependencies(waits), tf.name_scope("gradient_accumulation"):
        for gradient, variable in pairs:
            gradient = accumulate.dense(gradient)
            if gradient is None:
                states.append(None)
                continue
            kind = accumulate.accumulator_dtype(variable, dtype)
            state = loop.state(variable.shape, kind)
            with pipeline_facts.marked(pipeline_facts.ACCUMULATE):
                if method is Method.RUNNING_MEAN:
                    state.assign(accumulate.combined(state.read(), gradient, method, number, count))
                else:
                    state.assign_add(accumulate.scaled(gradient, method, number, count, kind))
            states.append(state)

    def update() -> Any:
        apply(
            [
                (None if state is None else state.read(), variable)
                for state, (_, variable) in zip(states, pairs, strict=True)
            ]
        )
        for state in states:
            if state is not None:
                state.assign(tf.zeros_like(state.read()))
        return tf.constant(True)

    done = tf.cond(tf.equal(number, count - 1), update, lambda: tf.constant(False)).op
    branch = done.inputs[0].op if done.type == "Identity" else done
    facts.record(branch, **{pipeline_facts.UPDATE_EVERY: count})
    return done


def _check_iterations(count: int) -> list[Any]:
    iterations = loops.iterations()
    if iterations is None:
        return []
    return failing_ops.unless(
        iterations % count == 0,
        f"Detected a gradient accumulation operation with {count} mini-batches inside a loop of {iterations} "
        f"iterations, which is not a multiple of that: gradients of the last ones would be lost.",
    )


def _check_supported(optimizer: Any) -> None:
    while isinstance(optimizer, IpuOptimizer):
        optimizer = optimizer._opt
    train = tf.compat.v1.train
    if not isinstance(optimizer, (train.GradientDescentOptimizer, train.MomentumOptimizer)):
        raise ValueError(
            f"GradientAccumulationOptimizer supports GradientDescentOptimizer and MomentumOptimizer only, and this is "
            f"{type(optimizer).__name__}: use GradientAccumulationOptimizerV2. verify_usage=False turns this check off."
        )
