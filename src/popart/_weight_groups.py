"""The groups of replicas that a model gives its weights, from what the builder noted in it."""

from __future__ import annotations

from collections.abc import Mapping

from tremula.errors import Error
from tremula.frontends.onnx.run.groups import WeightGroups

from ._enums import CommGroupType, VariableRetrievalMode
from ._tensor_locations import CommGroup
from ._variable_settings import VariableSettings

_SETTINGS = "__variable_settings/"


def weight_groups(notes: Mapping[str, str], replicas: int) -> dict[str, WeightGroups]:
    """The replica groups of each weight that has more than one group or returns more than one copy."""
    found = {}
    for key in notes:
        if key.startswith(_SETTINGS):
            name = key.removeprefix(_SETTINGS)
            settings = _settings(notes, name)
            groups = WeightGroups(
                tuple(map(tuple, settings.groups(replicas))),
                settings.getRetrievalMode() is VariableRetrievalMode.AllReplicas,
            )
            if groups.split or groups.every:
                found[name] = groups
    return found


def _settings(notes: Mapping[str, str], name: str) -> VariableSettings:
    try:
        mode = VariableRetrievalMode(int(notes[_SETTINGS + name]))
        size = int(notes[f"__comm_group_size/{name}"])
        stride = notes.get(f"__comm_group_stride/{name}")
        if stride is not None:
            return VariableSettings(int(stride), size, mode)
        return VariableSettings(CommGroup(CommGroupType(int(notes[f"__comm_group_type/{name}"])), size), mode)
    except (KeyError, ValueError) as problem:
        raise Error(f"the model's note of the replicas of {name} cannot be read: {problem}") from problem
