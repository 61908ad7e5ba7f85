"""The calls of a Keras model's layers, and the stages that a split puts them in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tremula.program.variant import StageStart


class LayerCall(NamedTuple):
    """One call of a layer, or of a model inside the model."""

    #: names of the models around the layer and its own: encoder/dense
    path: str
    #: whether it is a call of a model, whose own calls follow
    nested: bool = False


def calls_of(assignments: Iterable[Any], around: str = "") -> tuple[LayerCall, ...]:
    """The calls in what `get_pipeline_stage_assignment` of a model gives, in its order."""
    found = []
    for each in assignments:
        path = around + each.layer.name
        found.append(LayerCall(path, each.is_nested_model))
        if each.is_nested_model:
            found += calls_of(each.pipeline_stage_assignments, f"{path}/")
    return tuple(found)


def stages_of(calls: Iterable[LayerCall], starts: Sequence[StageStart]) -> list[tuple[str, int]]:
    """Each layer with its stage: a stage begins where its first layer is called, the next one where its own is."""
    stage, found = 0, []
    for call in calls:
        stage += call.path in [start.module for start in starts[stage : stage + 1]]
        if not call.nested:
            found.append((call.path, stage))
    return found
