"""Numbers for what a trace names: texts, channels, rows, series and heat maps. A name is written once, with the batch
in which it first occurs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from tremula.trace.batch import LONGEST_TEXT
from tremula.trace.channels import by_number
from tremula.trace.measures import HeatMap, Series
from tremula.trace.names import MODELLED
from tremula.trace.points import Row

#: different texts of a trace
_MOST_TEXTS = 1_000_000
_TOO_MANY = "(one of too many labels)"


@dataclass
class NewNames:
    """What has got a number since the last batch; see `Batch`."""

    texts: list[str] = field(default_factory=list)
    channels: list[str] = field(default_factory=list)
    rows: list[tuple[int, int, str, str]] = field(default_factory=list)
    series: list[tuple[str, str, str]] = field(default_factory=list)
    heatmaps: list[tuple[str, str, tuple[float, ...]]] = field(default_factory=list)
    characters: int = 0  #: of the texts


class Numbering:
    """The numbers of one trace.

    Attributes:
        new: names since the last `take`.
    """

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        self._channels: dict[int, int] = {}
        self._measures: dict[Series | HeatMap, int] = {}
        self._series = self._heatmaps = self._rows = 0
        self.new = NewNames()

    def take(self) -> NewNames:
        """The new names; from now on they are known."""
        taken, self.new = self.new, NewNames()
        return taken

    def channel(self, channel: int) -> int:
        """The number of a channel, which has another one in its process."""
        number = self._channels.get(channel)
        if number is None:
            number = self._channels[channel] = len(self._channels)
            self.new.channels.append(clean(by_number(channel).name))
        return number

    def label(self, label: str) -> int:
        """The number of a label: of a text in any case."""
        return self.text(str(label) if label is None else label)

    def text(self, text: str | None) -> int:
        """The number of a text; -1 for none."""
        if text is None:
            return -1
        number = self._texts.get(text) if isinstance(text, str) else None
        if number is None:
            kept = clean(text) if len(self._texts) < _MOST_TEXTS else _TOO_MANY
            number = self._texts.get(kept)
            if number is None:
                number = self._texts[kept] = len(self._texts)
                self.new.texts.append(kept)
                self.new.characters += len(kept)
        return number

    def row(self, row: Row) -> None:
        """Give a row its number, and write its name if that is new."""
        name = row.name or (row.thread.name if row.thread is not None else "")
        if name != row.written_name:
            if row.number < 0:
                row.number = self._rows
                self._rows += 1
            row.written_name = name
            kind = "device" if row.name == MODELLED and row.thread is None else "thread"
            self.new.rows.append((row.number, row.tid, clean(name), kind))

    def measure(self, of: Series | HeatMap) -> int:
        """The number of a series among the series, or of a heat map among those."""
        number = self._measures.get(of)
        if number is not None:
            return number
        if isinstance(of, Series):
            number, self._series = self._series, self._series + 1
            self.new.series.append((clean(of.graph), clean(of.unit), clean(of.name)))
        else:
            number, self._heatmaps = self._heatmaps, self._heatmaps + 1
            self.new.heatmaps.append((clean(of.name), clean(of.unit), of.edges))
        self._measures[of] = number
        return number


def clean(text: object) -> str:
    """A text of bounded length that can be encoded."""
    try:
        found = text if isinstance(text, str) else os.fsdecode(text) if isinstance(text, bytes) else str(text)
    except Exception:
        found = f"<{type(text).__name__}>"
    found = found[:LONGEST_TEXT]
    return found if found.isascii() else found.encode("utf-8", "replace").decode("utf-8")
