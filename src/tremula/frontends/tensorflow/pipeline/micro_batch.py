"""One micro-batch of a pipeline, traced as a function: all stages forwards, then all backwards.

Its outputs are what is accumulated over the micro-batches of a weight update. The weight update is traced inside, since
it may use tensors of the stages, such as a learning rate that is passed along with the data.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v2 as tf

from tremula import log
from tremula.frontends.tensorflow import tensorflow1
from tremula.frontends.tensorflow.feeds.infeed import body_arguments
from tremula.frontends.tensorflow.ops import internal
from tremula.frontends.tensorflow.pipeline import accumulate, facts, optimizer_kinds, stages
from tremula.frontends.tensorflow.pipeline.arguments import Arguments, to_list
from tremula.frontends.tensorflow.pipeline.checks import to_flat_list
from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod as Method
from tremula.frontends.tensorflow.pipeline.optimizer_output import OptimizerFunctionOutput
from tremula.frontends.tensorflow.pipeline.traced import Traced
from tremula.frontends.tensorflow.replicas.analysis import Analysis
from tremula.frontends.tensorflow.replicas.variables import local_variable


@dataclass(frozen=True)
class Accumulated:
    """One tensor that is accumulated over the micro-batches of a weight update.

    Attributes:
        tensor: of a micro-batch, inside its function.
        dtype: of the accumulator.
        shape: of both.
        method: how values are combined.
    """

    tensor: Any
    dtype: Any
    shape: Any
    method: Method


class MicroBatch:
    """The functions of a micro-batch and of the weight update after the last one.

    Args:
        arguments: of the pipeline.
        inputs: the tensors that the first stage gets for every micro-batch.

    Attributes:
        function: takes the number of the micro-batch and the inputs; gives the accumulated tensors, then the kept ones.
        accumulated: what each of the first outputs is.
        update: takes the accumulators; None if nothing happens after the last micro-batch.
        kept: outputs of the last micro-batch that the update uses.
    """

    def __init__(self, arguments: Arguments, inputs: Sequence[Any]) -> None:
        self._arguments = arguments
        self.accumulated: list[Accumulated] = []
        self.update: Traced | None = None
        outer = tf.compat.v1.get_default_graph()
        specs = [tf.TensorSpec([], tf.int32), *(tf.TensorSpec(x.shape, x.dtype) for x in inputs)]
        self.function = Traced(f"{arguments.name}_micro_batch", self._trace, specs)
        stages.check_captures(self.function.captures)
        self._warn_of_writes()
        self.kept: list[Any] = []
        #: of each tensor that the update captures: where its value comes from
        self._sources: list[tuple[str, Any]] = []
        self._connect_update(outer)

    def update_captures(self, inputs: Sequence[Any], kept: Sequence[Any]) -> list[Any]:
        """What the update gets for the tensors that it captures, given the pipeline's inputs and the kept tensors."""
        places = {"input": inputs, "kept": kept}
        return [value if kind == "outside" else places[kind][value] for kind, value in self._sources]

    def _connect_update(self, outer: Any) -> None:
        """Find out where the tensors come from that the update captures."""
        if self.update is None:
            return
        self.update.move_to(outer)
        graph = self.function.graph
        arguments = {tensor.ref(): index for index, tensor in enumerate(graph.inputs[1:])}
        outside = {inner.ref(): captured for captured, inner in graph.captures}
        for tensor in self.update.captures:
            if isinstance(tensor, tf.__internal__.EagerTensor) or tensor.graph is not graph:
                stages.check_captures([tensor])
                self._sources.append(("outside", tensor))
            elif tensor.ref() in outside:
                self._sources.append(("outside", outside[tensor.ref()]))
            elif tensor.ref() in arguments:
                self._sources.append(("input", arguments[tensor.ref()]))
            else:
                self._sources.append(("kept", len(self.kept)))
                self.kept.append(tensor)
                self.function.add_output(tensor)

    def _trace(self, number: Any, *inputs: Any) -> list[Any]:
        with internal.counting(number):
            outputs = self._forward(list(inputs))
            result = self._backward(outputs) if self._arguments.training else None
            if result is None:
                self._infer(outputs)
            if self.accumulated:
                self._trace_update(result)
        return [each.tensor for each in self.accumulated]

    def _forward(self, args: list[Any]) -> Any:
        arguments = self._arguments
        outputs: Any = None
        for number, (stage, place) in enumerate(zip(arguments.stages, arguments.device_mapping, strict=True)):
            kwargs: dict[str, Any] = {}
            # without a name scope, which names of variables would get too
            with facts.stage(number, to_flat_list(place)) as made:
                if number == 0 and arguments.infeed_queue is not None:
                    elements, kwargs = body_arguments(arguments.infeed_queue._dequeue())
                    args = [*args, *elements]
                outputs = stages.tensors(stages.run_stage(stage, number, place, args, kwargs))
            stages.check_stage(number, made, [*args, *kwargs.values()])
            args = stages.as_arguments(outputs)
        return outputs

    def _infer(self, outputs: Any) -> None:
        """Give what the last stage of a pipeline without optimizer returns to the outfeed."""
        if not stages.as_arguments(outputs):
            return
        queue = self._arguments.outfeed_queue
        if queue is None:
            raise _no_outfeed(stages.as_arguments(outputs))
        if self._arguments.accumulate_outfeed:
            self._accumulate_outputs(to_list(outputs))
        else:
            # with the package for TensorFlow 1, one output alone is a list too
            as_it_is = dict if tensorflow1.switched_on() else (dict, tf.Tensor)
            queue.enqueue(outputs if isinstance(outputs, as_it_is) else stages.as_arguments(outputs))

    def _backward(self, outputs: Any) -> tuple[OptimizerFunctionOutput, list[Any], Any]:
        """Gradients of all variables: pairs, and captured gradients if there are any."""
        arguments = self._arguments
        values = stages.as_arguments(outputs)
        result = arguments.optimizer_function(*values) if arguments.optimizer_function else None
        if not isinstance(result, OptimizerFunctionOutput):
            raise TypeError(
                f"The optimizer_function of a pipeline returns an OptimizerFunctionOutput; this one gave {result!r}."
            )
        self._give(result.loss if arguments.outfeed_loss else self._unmasked(values))
        pairs = []
        for gradient, variable in _gradients(result):
            gradient = accumulate.dense(gradient)
            if gradient is not None:
                dtype = accumulate.accumulator_dtype(variable, arguments.gradient_dtype)
                self._add(gradient, dtype, variable.shape, arguments.reduction_method)
            pairs.append((gradient, variable))
        captured = result.captures.captured_gradients if result.captures is not None else None
        if captured and arguments.accumulate_captured:
            for gradient in tf.nest.flatten(captured):
                dtype = accumulate.accumulator_dtype(gradient, arguments.gradient_dtype)
                self._add(gradient, dtype, gradient.shape, arguments.reduction_method)
        return result, pairs, captured

    def _unmasked(self, outputs: list[Any]) -> list[Any]:
        mask = self._arguments.outfeed_mask or [False] * len(outputs)
        if len(outputs) != len(mask):
            raise ValueError(
                f"The last computational stage has {len(outputs)} outputs, but the `outfeed_mask` has elements "
                f"{len(mask)}: it needs one for each output."
            )
        return [tensor for masked, tensor in zip(mask, outputs, strict=True) if not masked]

    def _give(self, values: Any) -> None:
        """Give the loss, or a list of outputs, to the outfeed: now, or when all are accumulated."""
        if isinstance(values, list) and not values:
            return
        if self._arguments.outfeed_queue is None:
            raise _no_outfeed(to_list(values))
        if self._arguments.accumulate_outfeed:
            self._accumulate_outputs(to_list(values))
        else:
            self._arguments.outfeed_queue.enqueue(values)

    def _accumulate_outputs(self, outputs: list[Any]) -> None:
        self._outfeed_structure = outputs
        for tensor in tf.nest.flatten(outputs):
            dtype = accumulate.accumulator_dtype(tensor, self._arguments.outfeed_dtype)
            self._add(tensor, dtype, tensor.shape, Method.SUM)

    def _add(self, tensor: Any, dtype: Any, shape: Any, method: Method) -> None:
        self.accumulated.append(Accumulated(tensor, dtype, tf.TensorShape(shape), method))

    def _trace_update(self, result: tuple[OptimizerFunctionOutput, list[Any], Any] | None) -> None:
        arguments = self._arguments
        outputs = len(tf.nest.flatten(self._outfeed_structure)) if arguments.accumulate_outfeed else 0

        def update(*accumulators: Any) -> list[Any]:
            values = iter(accumulators)
            given = [next(values) for _ in range(outputs)]
            with facts.update():
                if result is not None:
                    self._apply(result, values)
                if given:
                    whole = tf.nest.pack_sequence_as(self._outfeed_structure, given)
                    arguments.outfeed_queue.enqueue(whole[0] if arguments.outfeed_loss else whole)
            return []

        specs = [tf.TensorSpec(each.shape, each.dtype) for each in self.accumulated]
        self.update = Traced(f"{arguments.name}_update", update, specs)

    def _apply(self, result: tuple[OptimizerFunctionOutput, list[Any], Any], values: Any) -> None:
        """Call the optimizer with accumulated gradients."""
        output, pairs, captured = result
        pairs = [(None if gradient is None else next(values), variable) for gradient, variable in pairs]
        if captured and self._arguments.accumulate_captured:
            captured = tf.nest.map_structure(lambda _: next(values), captured)
        kwargs = dict(output.apply_gradients_kwargs)
        if captured and _takes_captured(output.opt):
            kwargs["captured_grads"] = captured
        output.opt.apply_gradients(pairs, *output.apply_gradients_args, **kwargs)
        if captured and output.captured_gradient_outfeed is not None:
            output.captured_gradient_outfeed.enqueue(captured)

    def _warn_of_writes(self) -> None:
        graph = self.function.graph
        effects = Analysis().effects(graph)
        variables = {id(v.handle): v for v in map(local_variable, graph.variables)}
        first = len(graph.inputs) - len(graph.captures)
        changed = [
            variables[id(outer)].name
            for index, (outer, _) in enumerate(graph.captures, first)
            if index in effects.writes and index not in effects.generators and id(outer) in variables
        ]
        if changed:
            log.warn_once(
                f"pipeline stage writes {changed}",
                f"Stages of a pipeline change variables: {', '.join(changed)}. Only the weight update should: on the "
                f"device, what a stage of another micro-batch reads is undefined.",
            )


def _gradients(result: OptimizerFunctionOutput) -> list[tuple[Any, Any]]:
    if optimizer_kinds.is_tensorflow_1(result.opt):
        return list(
            result.opt.compute_gradients(
                result.loss, *result.compute_gradients_args, **result.compute_gradients_kwargs
            )
        )
    variables = list(result.tape.watched_variables() if result.tape else result.variables)
    if not variables:
        raise RuntimeError(
            "No variables to optimize. With a Keras optimizer, give OptimizerFunctionOutput a list of `variables`, or "
            "a GradientTape as `tape`."
        )
    capturing = result.tape if result.tape is not None and result.captures is result.tape else None
    with capturing.stop_recording() if capturing is not None else nullcontext():
        gradients = optimizer_kinds.keras_gradients(result.opt, result.loss, variables)
    if len(gradients) != len(variables):
        raise RuntimeError(f"The optimizer gave {len(gradients)} gradients for {len(variables)} variables.")
    return list(zip(gradients, variables, strict=True))


def _takes_captured(optimizer: Any) -> bool:
    """Whether `apply_gradients` of an optimizer uses captured gradients."""
    if getattr(optimizer, "supports_captured_grads", False):
        return True
    return "captured_grads" in inspect.signature(optimizer.apply_gradients).parameters


def _no_outfeed(outputs: list[Any]) -> ValueError:
    names = ", ".join(str(tensor) for tensor in tf.nest.flatten(outputs))
    return ValueError(
        f"The last computational stage has tensor outputs: {names}, but no outfeed_queue has been provided. Give "
        f"one, or let the stage return nothing."
    )
