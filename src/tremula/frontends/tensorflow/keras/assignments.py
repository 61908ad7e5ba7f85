"""In which stage of a pipeline each call of a layer is: what `get_pipeline_stage_assignment` of a Keras model gives."""

from __future__ import annotations

from typing import Any


class _Call:
    """A call of a layer or of a nested model, by its number among the layer's calls."""

    _layer: Any
    _node_index: int

    @property
    def node_index(self) -> int:
        """Which call of the layer it is; the first is 0."""
        return self._node_index

    @property
    def inbound_layers(self) -> list[Any]:
        """The layers whose results the call takes."""
        return [node.layer for node in self._layer._inbound_nodes[self._node_index].parent_nodes]


class ModelLayerPipelineStageAssignment(_Call):
    """The stage of one call of a layer in a model that is a subclass of `Model`.

    Calls of one layer may be in several stages, if these are on one IPU.

    Args:
        layer: the layer.
        node_index: which call of the layer; the first is 0.
        pipeline_stage: the stage; None if it is not assigned yet.
    """

    is_nested_model = False

    def __init__(self, layer: Any, node_index: int, pipeline_stage: int | None = None) -> None:
        self._layer = layer
        self._node_index = node_index
        self.pipeline_stage = pipeline_stage

    @property
    def layer(self) -> Any:
        """The layer that is called."""
        return self._layer

    def __str__(self) -> str:
        call = f"{self.layer.name} (node index {self.node_index})"
        return f"Layer: {call} is assigned to pipeline stage: {self.pipeline_stage}"


class FunctionalLayerPipelineStageAssignment(ModelLayerPipelineStageAssignment):
    """The stage of one call of a layer in a `Functional` model; arguments as for its base class."""


class SequentialLayerPipelineStageAssignment:
    """The stage of a layer in a `Sequential` model.

    Args:
        layer: the layer.
        pipeline_stage: the stage; None if it is not assigned yet.
    """

    is_nested_model = False

    def __init__(self, layer: Any, pipeline_stage: int | None = None) -> None:
        self._layer = layer
        self.pipeline_stage = pipeline_stage

    @property
    def layer(self) -> Any:
        """The layer."""
        return self._layer

    def __str__(self) -> str:
        return f"Layer: {self.layer.name} is assigned to pipeline stage: {self.pipeline_stage}"


class _Nested:
    """What the assignments of nested models have in common."""

    is_nested_model = True

    _nested_model: Any
    _pipeline_stage_assignments: Any

    @property
    def nested_model(self) -> Any:
        """The model that is called."""
        return self._nested_model

    @property
    def layer(self) -> Any:
        """The model that is called, as the layer that it is in the outer model."""
        return self._nested_model

    @property
    def pipeline_stage_assignments(self) -> list[Any]:
        """The stages of the calls inside this call of the model."""
        return list(self._pipeline_stage_assignments)

    def _inner_lines(self) -> str:
        return "".join(f"\n  {assignment}" for assignment in self._pipeline_stage_assignments)


class NestedModelPipelineStageAssignment(_Nested, _Call):
    """The stages of the layers in one call of a model inside a model that is a subclass of `Model`.

    They are the outer model's own; stages that the nested model has itself are where they start from.

    Args:
        nested_model: the model that is called.
        node_index: which call of it; the first is 0.
        pipeline_stage_assignments: the stages of its layers.
    """

    def __init__(self, nested_model: Any, node_index: int, pipeline_stage_assignments: Any) -> None:
        self._nested_model = self._layer = nested_model
        self._node_index = node_index
        self._pipeline_stage_assignments = pipeline_stage_assignments

    def __str__(self) -> str:
        return (
            f"Model: {self.nested_model.name} (node index {self.node_index}) has the following pipeline stage "
            f"assignments:{self._inner_lines()}"
        )


class FunctionalNestedModelPipelineStageAssignment(NestedModelPipelineStageAssignment):
    """The stages of the layers in one call of a model inside a `Functional` model; arguments as for its base class."""


class SequentialNestedModelPipelineStageAssignment(_Nested):
    """The stages of the layers of a model inside a `Sequential` model.

    Args:
        nested_model: the model.
        pipeline_stage_assignments: the stages of its layers.
    """

    def __init__(self, nested_model: Any, pipeline_stage_assignments: Any) -> None:
        self._nested_model = nested_model
        self._pipeline_stage_assignments = pipeline_stage_assignments

    def __str__(self) -> str:
        return f"Model: {self.nested_model.name} has the following pipeline stage assignments:{self._inner_lines()}"


def last_stage(assignments: Any) -> int:
    """The highest stage that is assigned, in nested models too; -1 if none is."""
    stages = [
        last_stage(one.pipeline_stage_assignments) if one.is_nested_model else one.pipeline_stage
        for one in assignments
    ]
    return max((stage for stage in stages if stage is not None), default=-1)


def pack(assignments: Any) -> list[Any]:
    """The stages alone, in order, with a list for each nested model: what a configuration keeps."""
    return [
        pack(one.pipeline_stage_assignments) if one.is_nested_model else one.pipeline_stage
        for one in assignments
    ]


def unpack(assignments: Any, stages: Any) -> None:
    """Write packed stages into assignments of a model with the same layers."""
    for one, stage in zip(assignments, stages, strict=True):
        if one.is_nested_model:
            unpack(one.pipeline_stage_assignments, stage)
        else:
            one.pipeline_stage = stage
