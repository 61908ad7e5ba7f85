"""How a weight lies on replicas: `VariableSettings`."""

from __future__ import annotations

from typing import Any

from ._enums import CommGroupType, VariableRetrievalMode
from ._tensor_locations import CommGroup


class VariableSettings:
    """Which replicas share a weight, and which copies of it come back."""

    def __init__(self, *settings: Any) -> None:
        self._domain = CommGroup(CommGroupType.All, 0)
        self._mode = VariableRetrievalMode.OnePerGroup
        for each in settings:
            if isinstance(each, VariableRetrievalMode):
                self._mode = each
            elif isinstance(each, CommGroup):
                self._domain = each
            else:
                raise TypeError(f"__init__(): incompatible constructor arguments: {each!r}.")

    def getSharedVariableDomain(self) -> CommGroup:
        """The replicas that share the weight."""
        return self._domain

    def getRetrievalMode(self) -> VariableRetrievalMode:
        """Which copies come back."""
        return self._mode


__all__ = ["VariableSettings"]
