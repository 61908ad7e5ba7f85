"""Pipelining of Keras models: the methods that functional, sequential and subclassed models get under an IPUStrategy.

The classes here are bases of the extensions. They need two things from the rest of an extension:
`_reset_ipu_extension()`, which forgets programs that were made, and the attribute
`_gradient_accumulation_reduction_method`.

What a program says and results do not depend on (recomputation, offloading, the schedule, options of stages) stays in
`_pipelining_kwargs` of the model, for the chip model.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.keras import assignments as kinds
from tremula.frontends.tensorflow.keras import pipeline_options, pipeline_summary, stages
from tremula.frontends.tensorflow.keras.pipeline_order import Network, Order, order_of
from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod
from tremula.frontends.tensorflow.stock_keras import internal

_untracked = tf.__internal__.tracking.no_automatic_dependency_tracking


class Pipelining:
    """What pipelined models of all kinds have in common."""

    _layer_assignment: type
    _nested_assignment: type
    _summary_columns: tuple[tuple[str, float], ...] = pipeline_summary.CALLS
    _summary_width = 89

    name: str
    layers: list[Any]
    _gradient_accumulation_reduction_method: Any
    _reset_ipu_extension: Callable[[], None]
    call: Any

    @_untracked
    def _init_pipelining(self) -> None:
        self._pipeline_stage_assignment: list[Any] = []
        self._pipelining_gradient_accumulation_steps_per_replica: int | None = None
        self._pipelining_device_mapping: list[int] | None = None
        self._pipelining_accumulate_outfeed: bool | None = None
        self._pipelining_kwargs: dict[str, Any] = {}

    # options

    def set_pipelining_options(
        self,
        gradient_accumulation_steps_per_replica: int | None = None,
        device_mapping: list[int] | None = None,
        accumulate_outfeed: bool | None = None,
        gradient_accumulation_reduction_method: Any = "sum",
        **pipelining_kwargs: Any,
    ) -> None:
        """Set how the model runs when it is pipelined. None leaves a value as it is.

        Args:
            gradient_accumulation_steps_per_replica: micro-batches of a replica per update of the weights; training
                needs it, and `steps_per_execution` must be a multiple of it.
            device_mapping: the IPU of each stage; stages that share weights must be on one IPU.
            accumulate_outfeed: whether one result per update leaves the device, the mean over the micro-batches,
                instead of one per micro-batch.
            gradient_accumulation_reduction_method: how gradients are combined: `sum`, `mean` or `running_mean`, or the
                enum.
            **pipelining_kwargs: options of `pipelining_ops.pipeline`. They are not saved with the model.

        Raises:
            ValueError: a value is of the wrong kind, or an option cannot be given here.
        """
        self._set_pipelining_options_impl(
            gradient_accumulation_steps_per_replica,
            device_mapping,
            accumulate_outfeed,
            gradient_accumulation_reduction_method,
            pipelining_kwargs,
        )

    @_untracked
    def _set_pipelining_options_impl(
        self,
        steps: Any,
        mapping: Any,
        accumulate_outfeed: Any,
        reduction_method: Any,
        options: dict[str, Any],
    ) -> None:
        method = GradientAccumulationReductionMethod.parse(reduction_method)
        pipeline_options.check_pipeline_options(options)
        if steps is not None:
            pipeline_options.check_steps(steps)
        if mapping is not None:
            pipeline_options.check_mapping(mapping)
        self._gradient_accumulation_reduction_method = method
        if steps is not None:
            self._pipelining_gradient_accumulation_steps_per_replica = steps
        if mapping is not None:
            self._pipelining_device_mapping = mapping
        if accumulate_outfeed is not None:
            self._pipelining_accumulate_outfeed = accumulate_outfeed
        options.setdefault("gradient_accumulation_for_captured_grads", False)
        self._pipelining_kwargs = options
        self._reset_ipu_extension()

    # assignments

    def get_pipeline_stage_assignment(self) -> list[Any]:
        """The stage of each call of a layer, in the order of execution; changes count after they are set."""
        if self._pipeline_stage_assignment:
            return _copies(self._pipeline_stage_assignment)
        return [self._assignment_of(node) for node in self._pipeline_network().calls()]

    @_untracked
    def set_pipeline_stage_assignment(self, pipeline_stage_assignment: list[Any]) -> None:
        """Put each call of a layer into a stage, for `fit`, `evaluate` and `predict`.

        Args:
            pipeline_stage_assignment: what `get_pipeline_stage_assignment` gives, with stages.

        Raises:
            ValueError: it does not fit the model, is incomplete, or a stage would need results of a later one.
        """
        order_of(self, pipeline_stage_assignment)
        self._set_assignments(pipeline_stage_assignment)

    @_untracked
    def reset_pipeline_stage_assignment(self) -> None:
        """Make the model one that is not pipelined."""
        self._set_assignments([])

    def print_pipeline_stage_assignment_summary(
        self, line_length: int | None = None, print_fn: Callable[[str], Any] | None = None
    ) -> None:
        """Print the stages as a table.

        Args:
            line_length: the width of a line.
            print_fn: gets each line; by default it is printed.
        """
        found = self.get_pipeline_stage_assignment()
        # the method exists to print
        show = print_fn or print
        pipeline_summary.write(
            self.name, found, self._summary_columns, line_length or self._summary_width, show
        )

    def _set_assignments(self, found: list[Any]) -> None:
        self._pipeline_stage_assignment = found
        self._reset_ipu_extension()

    def _assignment_of(self, node: Any) -> Any:
        """The assignment of a call, without a stage."""
        layer, index = node.layer, node.layer._inbound_nodes.index(node)
        if isinstance(layer, Pipelining):
            return self._nested_assignment(layer, index, layer._stages_when_nested(node))
        return self._layer_assignment(layer, index)

    def _stages_when_nested(self, node: Any) -> list[Any]:
        return self.get_pipeline_stage_assignment()

    @_untracked
    def _read_scopes(self) -> None:
        """Take the stages that `PipelineStage` scopes gave to layers and calls.

        Raises:
            ValueError: some calls have a stage, others not.
        """
        calls = self._pipeline_network().calls()
        if all(stages.stage_of(node) is None for node in calls):
            return
        found = [self._assignment_of(node) for node in calls]
        for assignment, node in zip(found, calls, strict=True):
            if assignment.is_nested_model:
                continue
            assignment.pipeline_stage = stages.stage_of(node)
            if assignment.pipeline_stage is None:
                raise ValueError(
                    f"All layers of a pipelined model must have an associated pipeline stage. However, "
                    f"{node.layer.name} has not been assigned to one. Make it, or call it, in a PipelineStage scope."
                )
        order_of(self, found)
        self._set_assignments(found)

    # what runs a model needs

    def _is_pipelined(self) -> bool:
        return bool(self._pipeline_stage_assignment)

    def _pipeline_network(self) -> Network:
        raise NotImplementedError

    def _pipeline_order(self) -> Order:
        return order_of(self, self._pipeline_stage_assignment)

    def _get_pipeline_maximum_pipeline_stage(self) -> int:
        return kinds.last_stage(self._pipeline_stage_assignment)

    def _get_shard_count(self) -> int:
        """How many IPUs a replica needs, before it is rounded up to a power of two."""
        if not self._is_pipelined():
            return 1
        if self._pipelining_device_mapping:
            return max(self._pipelining_device_mapping) + 1
        return self._get_pipeline_maximum_pipeline_stage() + 1

    def _flat_inputs(self, inputs: Any) -> list[Any]:
        """Data for the model in the order of its network's inputs."""
        flatten = getattr(self, "_flatten_to_reference_inputs", tf.nest.flatten)
        return list(flatten(inputs))

    # configurations

    def _pipelining_config(self) -> dict[str, Any]:
        """What a configuration of the model keeps about pipelining."""
        steps = self._pipelining_gradient_accumulation_steps_per_replica
        return {
            "pipelining_gradient_accumulation_steps_per_replica": steps,
            "pipelining_device_mapping": self._pipelining_device_mapping,
            "pipelining_accumulate_outfeed": self._pipelining_accumulate_outfeed,
            "pipeline_stage_assignment": self._packed_assignments(),
        }

    def _packed_assignments(self) -> list[Any]:
        numbers = {id(layer): number for number, layer in enumerate(self.layers)}
        packed = kinds.pack(self._pipeline_stage_assignment)
        return [
            [numbers.get(id(one.layer), -1), one.node_index, stage]
            for one, stage in zip(self._pipeline_stage_assignment, packed, strict=True)
        ]

    @_untracked
    def _restore_pipelining(self, config: dict[str, Any]) -> None:
        """The inverse of `_pipelining_config`."""
        self._pipelining_gradient_accumulation_steps_per_replica = config.get(
            "pipelining_gradient_accumulation_steps_per_replica"
        )
        self._pipelining_device_mapping = config.get("pipelining_device_mapping")
        self._pipelining_accumulate_outfeed = config.get("pipelining_accumulate_outfeed")
        self._restore_assignments(config)

    def _restore_assignments(self, config: dict[str, Any]) -> None:
        stored = [stage for _, _, stage in config.get("pipeline_stage_assignment", [])]
        if not stored:
            self._pipeline_stage_assignment = []
            return
        found = [self._assignment_of(node) for node in self._pipeline_network().calls()]
        kinds.unpack(found, stored)
        self._pipeline_stage_assignment = found

    def _call_is(self, function: Any) -> bool:
        return getattr(self.call, "__func__", None) is function


class FunctionalPipelining(Pipelining):
    """Pipelining of functional models."""

    _layer_assignment = kinds.FunctionalLayerPipelineStageAssignment
    _nested_assignment = kinds.FunctionalNestedModelPipelineStageAssignment

    _nested_inputs: Any
    _nested_outputs: Any
    _nodes_by_depth: Any
    built: bool
    build: Any

    def _pipeline_network(self) -> Network:
        return Network(self._nested_inputs, self._nested_outputs, self._nodes_by_depth)

    def _get_pipelining_from_nodes_supported(self) -> bool:
        return True

    def _get_pipelining_from_nodes_delegate(self) -> None:
        self._read_scopes()

    def _build_with_dtypes(self, input_shape: Any, input_dtype: Any) -> None:
        if not self.built:
            self.build(input_shape)

    def _validate_call_function(self) -> None:
        if self._is_pipelined() and not self._call_is(internal("engine.functional").Functional.call):
            raise RuntimeError(
                f"The function `call` for the model {self.name} has been overridden. A pipelined Functional model "
                f"runs its layers stage by stage and would never call it: subclass keras.Model instead."
            )


def _copies(found: list[Any]) -> list[Any]:
    copies = []
    for one in found:
        made = copy.copy(one)
        if made.is_nested_model:
            made._pipeline_stage_assignments = _copies(made._pipeline_stage_assignments)
        copies.append(made)
    return copies
