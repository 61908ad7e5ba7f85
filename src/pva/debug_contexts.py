"""Debug contexts: which module, op and line of the user's program something comes from."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from pva.sequences import Chosen, Items
from pva.source import Source


@dataclass(frozen=True)
class SourceLocation:
    """A line of the user's program; `line` is -1 where it is not known."""

    fileName: str
    functionName: str
    lineNumber: int


class DebugContext:
    """A module or an op, as the framework's front end names it."""

    __slots__ = ("_source", "id")

    def __init__(self, source: Source, number: int) -> None:
        self._source = source
        self.id = number

    @property
    def name(self) -> str:
        """The name."""
        return self._source.texts("contexts", "name")[self.id]

    @property
    def layer(self) -> str:
        """The layer of the stack that created it: poptorch, tensorflow ..."""
        return self._source.texts("contexts", "layer")[self.id]

    @property
    def parents(self) -> Items[DebugContext]:
        """The contexts around it, innermost first."""
        above, found = self._source.numbers("contexts", "parent"), []
        number = int(above[self.id])
        while number >= 0:
            found.append(number)
            number = int(above[number])
        return contexts(self._source, np.asarray(found, dtype=np.int64))

    @property
    def location(self) -> SourceLocation:
        """The user's line."""
        source = self._source
        return SourceLocation(
            source.texts("contexts", "file")[self.id],
            source.texts("contexts", "function")[self.id],
            int(source.numbers("contexts", "line")[self.id]),
        )

    @property
    def json(self) -> str:
        """The information about the op as JSON text. The keys `opName` and `op_name` contain its full name."""
        source, known = self._source, {"layer": self.layer, "name": self.name}
        op = int(source.numbers("contexts", "op_id")[self.id])
        if op >= 0:
            row = source.profile.ops[op]
            known |= {"opName": row.name, "op_name": row.name, "target": row.target, "phase": row.phase}
            known["module"] = row.module
        place = self.location
        if place.fileName:
            known |= {"file": place.fileName, "line": str(place.lineNumber), "function": place.functionName}
        return json.dumps(known)

    @property
    def replacedDebugContext(self) -> None:
        """Always None: ops that were replaced are not recorded."""
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DebugContext) and (self._source, self.id) == (other._source, other.id)

    def __hash__(self) -> int:
        return hash((id(self._source), "context", self.id))

    def __repr__(self) -> str:
        return f"DebugContext({self.id}, {self.layer!r}, {self.name!r})"


def contexts(source: Source, numbers: Chosen) -> Items[DebugContext]:
    """Debug contexts as a list."""
    return Items(numbers, lambda number: DebugContext(source, number), source.print_length)
