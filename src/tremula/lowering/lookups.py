"""Rows read from tables and written into them."""

from __future__ import annotations

from typing import NamedTuple

from tremula.program.work import Gather, Scatter


class Rows(NamedTuple):
    """Which part of a table an op addresses: `number` rows of `width` elements out of `entries`."""

    entries: int
    width: int
    number: int

    def gather(self, dtype: str, proportion: float) -> Gather:
        """The rows read."""
        return Gather(self.entries, self.width, self.number, dtype, proportion)

    def scatter(self, dtype: str, operation: str, proportion: float) -> Scatter:
        """The rows written; `operation`: add, set or max."""
        return Scatter(self.entries, self.width, self.number, dtype, operation, proportion)
