"""Pipelining of Keras models that are subclasses of `Model`."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.keras import assignments as kinds
from tremula.frontends.tensorflow.keras import pipeline_trace
from tremula.frontends.tensorflow.keras.pipeline_api import Pipelining
from tremula.frontends.tensorflow.keras.pipeline_order import Network
from tremula.frontends.tensorflow.stock_keras import internal

_untracked = tf.__internal__.tracking.no_automatic_dependency_tracking


class ModelPipelining(Pipelining):
    """Pipelining of subclassed models: the network is what `call` does with Keras tensors when the model is built."""

    _layer_assignment = kinds.ModelLayerPipelineStageAssignment
    _nested_assignment = kinds.NestedModelPipelineStageAssignment

    built: bool
    _set_save_spec: Any

    @_untracked
    def _init_pipelining(self) -> None:
        super()._init_pipelining()
        self._traced_network: Network | None = None
        #: what a configuration said: stages in order, and the inputs to trace with
        self._stored_stages: list[Any] = []
        self._stored_inputs: Any = None

    @property
    def _graph_network_initialized(self) -> bool:
        return self._traced_network is not None

    def _is_pipelined(self) -> bool:
        return bool(self._pipeline_stage_assignment or self._stored_stages)

    def _pipeline_network(self) -> Network:
        if self._traced_network is None and self._stored_inputs is not None:
            self._trace(pipeline_trace.unpacked_inputs(self._stored_inputs))
        if self._traced_network is None:
            raise RuntimeError(self._not_built("get"))
        return self._traced_network

    def get_pipeline_stage_assignment(self) -> list[Any]:
        """The stage of each call of a layer, in the order of execution; changes count after they are set.

        Raises:
            RuntimeError: the model is not built.
        """
        self._pipeline_network()
        return super().get_pipeline_stage_assignment()

    @_untracked
    def set_pipeline_stage_assignment(self, pipeline_stage_assignment: list[Any]) -> None:
        """Put each call of a layer into a stage, for `fit`, `evaluate` and `predict`.

        Args:
            pipeline_stage_assignment: what `get_pipeline_stage_assignment` gives, with stages.

        Raises:
            RuntimeError: the model is not built.
            ValueError: it does not fit the model, is incomplete, or a stage would need results of a later one.
        """
        if self._traced_network is None and self._stored_inputs is None:
            raise RuntimeError(self._not_built("set"))
        super().set_pipeline_stage_assignment(pipeline_stage_assignment)

    def _not_built(self, what: str) -> str:
        return (
            f"Cannot {what} pipeline stage assignments for model `{self.name}` which has not been built yet: its "
            f"calls are known after `model.build()`, or use PipelineStage scopes in `call`."
        )

    def _set_assignments(self, found: list[Any]) -> None:
        self._stored_stages = []
        super()._set_assignments(found)

    def _stages_when_nested(self, node: Any) -> list[Any]:
        if self._traced_network is None and self._stored_inputs is None:
            given = node.call_args[0] if node.call_args else node.call_kwargs["inputs"]
            shapes = tf.nest.map_structure(lambda tensor: tuple(tensor.shape), given)
            types = tf.nest.map_structure(lambda tensor: tensor.dtype, given)
            self._trace(pipeline_trace.inputs_like(shapes, types))
        return self.get_pipeline_stage_assignment()

    # building

    def _build_supported(self, input_shape: Any) -> bool:
        return True

    @_untracked
    def _build_delegate(self, input_shape: Any) -> None:
        """What `model.build(input_shape)` does: trace the network."""
        self._validate_call_function()
        shapes = pipeline_trace.plain_shapes(input_shape)
        in_call = internal("engine.base_layer_utils").call_context().in_call
        inputs = None if in_call else pipeline_trace.inputs_like(input_shape)
        internal("engine.base_layer").Layer.build(self, shapes)
        if inputs is not None:
            self._trace(inputs)

    @_untracked
    def _build_with_dtypes(self, input_shape: Any, input_dtype: Any) -> None:
        if self._traced_network is not None:
            return
        self._validate_call_function()
        self._trace(pipeline_trace.inputs_like(input_shape, input_dtype))

    @_untracked
    def _trace(self, inputs: Any) -> None:
        stored, self._stored_inputs = self._stored_stages, None
        if self._traced_network is not None:
            pipeline_trace.forget(self._traced_network)
        self._traced_network = pipeline_trace.trace(self, inputs)
        # a model is saved with the types of its inputs, unless it was called before
        self._set_save_spec(inputs)
        if stored:
            found = [self._assignment_of(node) for node in self._traced_network.calls()]
            kinds.unpack(found, stored)
            self._set_assignments(found)
        elif not self._pipeline_stage_assignment:
            self._read_scopes()

    def _pipeline_order(self) -> Any:
        try:
            return super()._pipeline_order()
        except ValueError as error:
            raise RuntimeError(
                f"The pipeline stage assignments for model {self.name} are no longer valid: {error} `call` does "
                f"something else than when they were set; call `model.build` and set them again."
            ) from error

    def _validate_call_function(self) -> None:
        if self._call_is(internal("engine.training").Model.call):
            raise NotImplementedError(
                f"The function `call` for the model {self.name} has not been implemented: subclasses of Model need one."
            )

    # configurations

    def _pipelining_config(self) -> dict[str, Any]:
        config = super()._pipelining_config()
        if self._traced_network is not None:
            config["pipeline_inputs"] = pipeline_trace.packed_inputs(self._traced_network.inputs)
        elif self._stored_inputs is not None:
            config["pipeline_inputs"] = self._stored_inputs
        return config

    def _packed_assignments(self) -> list[Any]:
        if self._stored_stages:
            return [[-1, -1, stage] for stage in self._stored_stages]
        return super()._packed_assignments()

    def _restore_assignments(self, config: dict[str, Any]) -> None:
        # the layers may not be there yet: they are traced when the stages are needed
        self._pipeline_stage_assignment = []
        self._stored_stages = [stage for _, _, stage in config.get("pipeline_stage_assignment", [])]
        self._stored_inputs = config.get("pipeline_inputs")
        if self._traced_network is not None:
            pipeline_trace.forget(self._traced_network)
            self._traced_network = None
