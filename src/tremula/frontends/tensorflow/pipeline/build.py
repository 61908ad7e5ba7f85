"""`pipelining_ops.pipeline`: stages, their gradients and the weight update as loops of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.eager import record

from tremula.frontends.tensorflow import failing_ops
from tremula.frontends.tensorflow.ops import facts as op_facts
from tremula.frontends.tensorflow.pipeline import accumulate, facts
from tremula.frontends.tensorflow.pipeline.arguments import Arguments, as_count, checked
from tremula.frontends.tensorflow.pipeline.enums import (
    GradientAccumulationReductionMethod,
    PipelineSchedule,
    RecomputationMode,
)
from tremula.frontends.tensorflow.pipeline.micro_batch import MicroBatch
from tremula.frontends.tensorflow.replicas import context
from tremula.frontends.tensorflow.static_shape import static_sizes


@tf.autograph.experimental.do_not_convert
def pipeline(
    computational_stages: Any,
    gradient_accumulation_count: Any = None,
    gradient_accumulation_dtype: Any = None,
    gradient_accumulation_for_captured_grads: bool = True,
    repeat_count: int = 1,
    batch_serialization_iterations: int = 1,
    inputs: Any = None,
    infeed_queue: Any = None,
    outfeed_queue: Any = None,
    optimizer_function: Callable[..., Any] | None = None,
    device_mapping: Any = None,
    pipeline_schedule: PipelineSchedule | None = None,
    recomputation_mode: RecomputationMode | None = None,
    forward_propagation_stages_poplar_options: Any = None,
    backward_propagation_stages_poplar_options: Any = None,
    weight_update_poplar_options: Any = None,
    offload_weight_update_variables: bool | None = None,
    replicated_optimizer_state_sharding: bool | None = False,
    offload_activations: bool | None = None,
    offload_gradient_accumulation_buffers: bool | None = None,
    replicated_weight_sharding: bool | None = None,
    offload_weights: bool | None = None,
    continuous_weight_updates: bool = False,
    outfeed_loss: bool = False,
    accumulate_outfeed: bool = False,
    accumulate_outfeed_dtype: Any = None,
    outfeed_mask: Sequence[Any] | None = None,
    reduction_method: Any = GradientAccumulationReductionMethod.SUM,
    name: str | None = None,
) -> Any:
    """Run stages one after the other on many micro-batches, and update the weights after each group of them.

    Args:
        computational_stages: at least two functions; each gets what the one before returned. A list in the place of a
            function: functions that run side by side on the same arguments.
        gradient_accumulation_count: micro-batches for each weight update, a number or a scalar tensor.
        gradient_accumulation_dtype: type of the gradient accumulators: None for that of the variable, a type, or a
            function from the variable to a type.
        gradient_accumulation_for_captured_grads: whether captured gradients are accumulated too; otherwise those of the
            last micro-batch are used.
        repeat_count: how many weight updates are done.
        batch_serialization_iterations: each stage runs so many times for every count of a micro-batch; with the
            schedule Sequential, the reduction SUM and all stages on one IPU.
        inputs: tensors that the first stage gets for every micro-batch.
        infeed_queue: its elements go to the first stage, after `inputs`.
        outfeed_queue: gets what the last stage returns.
        optimizer_function: gets what the last stage returns; gives an `OptimizerFunctionOutput`. Without it, nothing is
            trained.
        device_mapping: the IPU of each stage; by default one each.
        pipeline_schedule: recorded; Grouped by default. The count must be a multiple of the stages (Interleaved, and
            Grouped without training) or of twice that (Grouped).
        recomputation_mode: recorded; Auto by default.
        forward_propagation_stages_poplar_options: recorded; a `PipelineStageOptions` for each stage.
        backward_propagation_stages_poplar_options: recorded, likewise.
        weight_update_poplar_options: recorded; one `PipelineStageOptions`.
        offload_weight_update_variables: recorded.
        replicated_optimizer_state_sharding: recorded.
        offload_activations: recorded.
        offload_gradient_accumulation_buffers: recorded.
        replicated_weight_sharding: recorded.
        offload_weights: recorded.
        continuous_weight_updates: not supported.
        outfeed_loss: the outfeed gets the loss instead.
        accumulate_outfeed: the outfeed gets one sum for each weight update, instead of the values of each micro-batch.
        accumulate_outfeed_dtype: type of these sums, as for gradients.
        outfeed_mask: for each output of the last stage, whether it is kept from the outfeed.
        reduction_method: how gradients are accumulated.
        name: of the operation.

    Returns:
        The operation that runs the pipeline.

    Raises:
        TypeError, ValueError, NotImplementedError: what is wrong with which argument.
        FailedPreconditionError: the schedule does not fit the number of micro-batches.
    """
    # every local variable is an argument here
    arguments = checked(**locals())
    return _build(arguments)


def recomputation_checkpoint(tensors: Any, name: str | None = None) -> Any:
    """The same tensors, marked: the device stores them when it recomputes the activations of a stage.

    Args:
        tensors: a tensor or a structure of them.
        name: of the ops.
    """
    kept = [
        op_facts.record(tf.identity(tensor, name=name), **{facts.CHECKPOINT: True})
        for tensor in tf.nest.flatten(tensors, expand_composites=True)
    ]
    return tf.nest.pack_sequence_as(tensors, kept, expand_composites=True)


def _build(arguments: Arguments) -> Any:
    if tf.executing_eagerly():
        raise RuntimeError(
            "A pipeline is a part of a program of the device: call pipelining_ops.pipeline in a tf.function that "
            "strategy.run executes, or in a function that ipu_compiler.compile compiles."
        )
    context.need_ipus(arguments.ipus)
    inputs = [tf.convert_to_tensor(tensor) for tensor in arguments.inputs]
    count = as_count(arguments.count)
    check = failing_ops.unless(
        count % arguments.divisor == 0 if isinstance(count, int) else tf.equal(count % arguments.divisor, 0),
        f"The number of iterations of the pipeline must be a multiple of {arguments.divisor}: with the schedule "
        f"{arguments.schedule.name} and {len(arguments.stages)} stages, gradient_accumulation_count has to be. It is "
        f"{count if isinstance(count, int) else 'a tensor'}.",
    )
    micro_batch = MicroBatch(arguments, inputs)
    with record.stop_recording(), tf.name_scope(arguments.name), tf.control_dependencies(check):
        total = count * arguments.batch_serialization_iterations
        done = _repeat(arguments.repeat_count, lambda: _one_update(arguments, micro_batch, inputs, total))
        operation = tf.group(done, name="run")
    return op_facts.record(operation, **{facts.PIPELINE: arguments.options})


def _repeat(times: Any, build: Callable[[], Any]) -> Any:
    """The operation that does what `build` builds several times."""
    if isinstance(times, int) and times == 1:
        return build()

    def once(number: Any) -> Any:
        with tf.control_dependencies([build()]):
            return number + 1

    return tf.while_loop(
        lambda number: number < times, once, [tf.constant(0)], parallel_iterations=1, name="updates"
    )


def _one_update(arguments: Arguments, micro_batch: MicroBatch, inputs: list[Any], total: Any) -> Any:
    """The operation of all micro-batches of one weight update, and the update."""
    kinds = micro_batch.accumulated
    zeros = [tf.zeros(each.shape, each.dtype) for each in kinds]
    last = [
        tf.zeros([length or 0 for length in static_sizes(tensor)], tensor.dtype)
        for tensor in micro_batch.kept
    ]

    def one(number: Any, *carried: Any) -> list[Any]:
        results, operation = micro_batch.function.call([number, *inputs])
        accumulators = [
            accumulate.combined(before, value, each.method, number, total)
            for before, value, each in zip(carried, results, kinds, strict=False)
        ]
        with tf.control_dependencies([operation]):
            return [number + 1, *accumulators, *results[len(kinds) :]]

    shapes = [tf.TensorShape([]), *(each.shape for each in kinds), *(x.shape for x in micro_batch.kept)]
    number, *carried = tf.nest.flatten(
        tf.while_loop(
            lambda number, *_: number < total,
            one,
            [tf.constant(0), *zeros, *last],
            shape_invariants=shapes,
            parallel_iterations=1,
            name="micro_batches",
        )
    )
    if micro_batch.update is None:
        return number
    captures = micro_batch.update_captures(inputs, carried[len(kinds) :])
    with tf.control_dependencies([number]):
        return micro_batch.update.call(carried[: len(kinds)], captures)[1]
