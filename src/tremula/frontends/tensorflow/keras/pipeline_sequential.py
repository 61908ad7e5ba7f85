"""Pipelining of sequential Keras models."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.keras import assignments as kinds
from tremula.frontends.tensorflow.keras import pipeline_summary
from tremula.frontends.tensorflow.keras.pipeline_api import Pipelining
from tremula.frontends.tensorflow.keras.pipeline_order import Network, Order, check_length, order_of
from tremula.frontends.tensorflow.stock_keras import internal

_untracked = tf.__internal__.tracking.no_automatic_dependency_tracking


class SequentialPipelining(Pipelining):
    """Pipelining of sequential models; stages may be given before the model is built, as integers too."""

    _layer_assignment = kinds.SequentialLayerPipelineStageAssignment
    _nested_assignment = kinds.SequentialNestedModelPipelineStageAssignment
    _summary_columns = pipeline_summary.LAYERS
    _summary_width = 60

    built: bool
    _graph_initialized: bool
    _has_explicit_input_shape: bool
    _nested_inputs: Any
    _nested_outputs: Any
    _nodes_by_depth: Any
    _init_graph_network: Any
    _build_graph_network_for_inferred_shape: Any
    inputs: Any
    outputs: Any

    @_untracked
    def _init_pipelining(self) -> None:
        super()._init_pipelining()
        self._pipeline_stage_assignment_valid = False

    def get_pipeline_stage_assignment(self) -> list[Any]:
        """The stage of each layer, in the order of execution; changes count after they are set."""
        if self._pipeline_stage_assignment:
            return super().get_pipeline_stage_assignment()
        return [self._assignment_of_layer(layer) for layer in self.layers]

    @_untracked
    def set_pipeline_stage_assignment(self, pipeline_stage_assignment: list[Any]) -> None:
        """Put each layer into a stage, for `fit`, `evaluate` and `predict`.

        Args:
            pipeline_stage_assignment: the number of the stage of each layer, or what `get_pipeline_stage_assignment`
                gives, with stages.

        Raises:
            ValueError: it does not fit the model, or the stages do not follow one another.
        """
        if not isinstance(pipeline_stage_assignment, list):
            raise ValueError(
                f"`pipeline_stage_assignment` needs to be a list, not {type(pipeline_stage_assignment).__name__}."
            )
        check_length(pipeline_stage_assignment, len(self.layers))
        found = [
            self._layer_assignment(layer, one) if isinstance(one, int) else one
            for layer, one in zip(self.layers, pipeline_stage_assignment, strict=True)
        ]
        if not all(isinstance(one, (self._layer_assignment, self._nested_assignment)) for one in found):
            raise ValueError(
                "All elements of `pipeline_stage_assignment` are integers or "
                "`SequentialLayerPipelineStageAssignment`, and for nested models "
                "`SequentialNestedModelPipelineStageAssignment`."
            )
        if any(isinstance(layer, Pipelining) for layer in self.layers):
            order_of(self, found)
        else:
            self._check_sequence(found)
        self._set_assignments(found)

    def _set_assignments(self, found: list[Any]) -> None:
        self._pipeline_stage_assignment_valid = bool(found)
        super()._set_assignments(found)

    def _check_sequence(self, found: list[Any]) -> None:
        before: Any = None
        for index, (one, layer) in enumerate(zip(found, self.layers, strict=True)):
            if one.pipeline_stage is None:
                raise ValueError(f"Layer {one.layer.name} has not been assigned a pipeline stage.")
            if one.layer is not layer:
                raise ValueError(
                    f"The provided assignment at index {index} `pipeline_stage_assignment` is for layer "
                    f"{one.layer.name}, but the layer in the Sequential model at index {index} is {layer.name}."
                )
            if before is None and one.pipeline_stage != 0:
                raise ValueError(
                    f"The first layer in a pipelined sequential model needs to be assigned to the 0th pipeline stage, "
                    f"however it was assigned to {one.pipeline_stage}."
                )
            if before is not None and one.pipeline_stage not in (before, before + 1):
                raise ValueError(
                    f"Layer {layer.name} has been assigned to pipeline stage {one.pipeline_stage}, however the "
                    f"previous layer in the Sequential model was assigned to pipeline stage {before}. A layer in a "
                    f"Sequential model can only be assigned to the same pipeline stage as the previous layer or to the "
                    f"next pipeline stage."
                )
            before = one.pipeline_stage

    def _assignment_of_layer(self, layer: Any) -> Any:
        if isinstance(layer, Pipelining):
            return self._nested_assignment(layer, layer.get_pipeline_stage_assignment())
        return self._layer_assignment(layer)

    def _assignment_of(self, node: Any) -> Any:
        return self._assignment_of_layer(node.layer)

    def _pipeline_network(self) -> Network:
        if self._graph_initialized and not self.built:
            self._init_graph_network(self.inputs, self.outputs)
        if not self._graph_initialized:
            raise RuntimeError(
                f"The Sequential model {self.name} cannot be represented as a graph network: build it with an input "
                f"shape first; if it is built, a layer failed on a symbolic input or is dynamic."
            )
        return Network(self._nested_inputs, self._nested_outputs, self._nodes_by_depth)

    def _pipeline_order(self) -> Order:
        if not self._pipeline_stage_assignment_valid:
            raise RuntimeError(
                f"Layers of the pipelined model {self.name} were added or removed after its stages were set: call "
                f"`set_pipeline_stage_assignment()` again."
            )
        return super()._pipeline_order()

    def _pipeline_layers_changed(self) -> None:
        """A layer was added or removed: the stages do not fit any more."""
        if self._is_pipelined():
            self._pipeline_stage_assignment_valid = False

    def _build_with_dtypes(self, input_shape: Any, input_dtype: Any) -> None:
        if self._has_explicit_input_shape:
            return
        if not isinstance(input_shape, tuple) or not all(
            size is None or isinstance(size, int) for size in input_shape
        ):
            raise RuntimeError(
                f"Layers in a Sequential model should only have a single input, but the data has "
                f"{type(input_shape).__name__} {input_shape}. Write the model with the Functional API."
            )
        self._build_graph_network_for_inferred_shape(input_shape, input_dtype)

    def _validate_call_function(self) -> None:
        if self._is_pipelined() and not self._call_is(internal("engine.sequential").Sequential.call):
            raise RuntimeError(
                f"The function `call` for the model {self.name} has been overridden. A pipelined Sequential model "
                f"runs its layers stage by stage and would never call it: subclass keras.Model instead."
            )

    def _packed_assignments(self) -> list[Any]:
        return kinds.pack(self._pipeline_stage_assignment)

    def _pipelining_config(self) -> dict[str, Any]:
        config = super()._pipelining_config()
        return {**config, "pipeline_stage_assignment_valid": self._pipeline_stage_assignment_valid}

    def _restore_assignments(self, config: dict[str, Any]) -> None:
        stored = config.get("pipeline_stage_assignment", [])
        found = [self._assignment_of_layer(layer) for layer in self.layers[: len(stored)]]
        kinds.unpack(found, stored[: len(found)])
        self._pipeline_stage_assignment = found
        self._pipeline_stage_assignment_valid = config.get("pipeline_stage_assignment_valid", False)
