"""The host's copy of a device's random state: the seed and the words of all streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula import log
from tremula.execute.executable import Executable


class RandomWords:
    """Read from the device when somebody looks after a call; written to it when it is attached."""

    def __init__(self, seed: int | None, layer: str) -> None:
        self._words: list[int] | None = None if seed is None else [seed]
        self._layer = layer

    def read(self, executable: Executable[Any], calls: int) -> list[int] | None:
        """The state after `calls` calls; before the first the seed, if there is one."""
        if self._words is None and calls:
            log.layer(self._layer).debug("Reading random seed")
            log.layer(self._layer).debug("Reading RNG state")
            self._words = executable.random_words()
        return self._words

    def set(self, words: Sequence[int]) -> None:
        """Use `words` when the device is written next."""
        self._words = list(words)

    def forget(self) -> None:
        """The device has drawn numbers: the copy is out of date."""
        self._words = None

    def write(self, executable: Executable[Any]) -> None:
        """Put the copy, if there is one, on the device."""
        if self._words is None:
            return
        log.layer(self._layer).debug("Setting random seed to %d", self._words[0])
        if len(self._words) > 1:
            log.layer(self._layer).debug("Setting RNG state")
        executable.restore_random(self._words)
