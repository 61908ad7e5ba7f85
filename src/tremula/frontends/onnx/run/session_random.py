"""The session's generator as the random state of an executable: captured graphs and single operators draw from one
stream, so that a session gives the same numbers whichever way its turns run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import torch

from tremula.frontends.torch.execute.random_state import RandomState


class SessionRandom(RandomState):
    """One stream, whose state is kept in a generator that others draw from as well."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__(generator.initial_seed(), 1)
        self._generator = generator

    @contextlib.contextmanager
    def replica(self, _index: int) -> Iterator[None]:
        """Draws made inside come from the generator."""
        torch.set_rng_state(self._generator.get_state())
        try:
            yield
        finally:
            self._generator.set_state(torch.get_rng_state())

    def streams(self) -> list[torch.Tensor]:
        """The generator's state."""
        return [self._generator.get_state()]

    def rewind(self, streams: list[torch.Tensor]) -> None:
        """Take over what `streams` returned earlier."""
        self._generator.set_state(streams[0])

    def words(self) -> list[int]:
        """The seed, then the words of the generator's state."""
        return [self.seed, *self._generator.get_state().view(torch.int64).tolist()]

    def restore(self, words: Sequence[int]) -> None:
        """Take over what `words` returned earlier."""
        self._generator.set_state(torch.tensor(list(words[1:]), dtype=torch.int64).view(torch.uint8))
