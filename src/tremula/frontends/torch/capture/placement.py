"""Which IPU, pipeline stage and execution phase an op belongs to; the execution strategies implement the rule."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

from tremula.program.op import Placement

__all__ = ["Placement", "PlacementRule", "SingleIpu"]


class PlacementRule(Protocol):
    """How blocks become placements."""

    def begin(self, block: str | None, ipu: int | None) -> None:
        """A block opens; `ipu` is the IPU the user asked for, if any."""

    def begin_owned(self, owner: Hashable, ipu: int | None) -> None:
        """A block without a name opens; the same `owner` gets the same name each time."""

    def begin_at(self, stage: int, phase: int, ipu: int) -> None:
        """A block opens at numbers that the caller worked out itself."""

    def end(self) -> None:
        """The innermost open block closes."""

    def reset_auto_ids(self) -> None:
        """Blocks without names are counted from 0 again."""

    def current(self) -> Placement:
        """Placement of an op recorded now; raises Error where the rule forbids an op outside blocks."""


class SingleIpu:
    """No strategy: everything on IPU 0."""

    def __init__(self) -> None:
        self._placement = Placement()

    def _ignore(self, *args: Any, **kwargs: Any) -> None:
        """Blocks make no difference."""

    begin = begin_owned = begin_at = end = reset_auto_ids = _ignore

    def current(self) -> Placement:
        return self._placement
