"""The device's random state: one stream per replica, seeded from the model's seed and its index in the whole run. The
values differ from the hardware generator's, not their distribution; they are repeatable on this host.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence

import torch

from tremula.errors import Error

_SEED_BITS = 63
_STRIDE = 0x9E3779B97F4A7C15  # odd, so that replicas of nearby seeds do not share streams


def fresh_seed() -> int:
    """A seed for a model that was given none."""
    return secrets.randbits(_SEED_BITS)


class RandomState:
    """Random streams of all replicas of one executable.

    Args:
        seed: of the model; None takes a fresh one.
        replicas: of this instance.
        first: index in the whole run of the first of them.
        common_seed: where several instances run the same model, the seed of a stream that is the same on all of
            them, for updates that round at random. The stream comes after those of the replicas.
    """

    def __init__(
        self, seed: int | None, replicas: int, first: int = 0, common_seed: int | None = None
    ) -> None:
        self.seed = fresh_seed() if seed is None else seed
        self._first = first
        self._common_seed = common_seed
        self._replicas = replicas
        self._streams = replicas + (common_seed is not None)
        self._states: list[torch.Tensor] = []
        self._reseed()

    def _reseed(self) -> None:
        seeds = [self.seed + (self._first + replica) * _STRIDE for replica in range(self._replicas)]
        if self._common_seed is not None:
            seeds.append(self._common_seed - _STRIDE)
        self._states = []
        for seed in seeds:
            generator = torch.Generator()
            generator.manual_seed(seed % (1 << _SEED_BITS))
            self._states.append(generator.get_state())

    @contextlib.contextmanager
    def host_untouched(self) -> Iterator[None]:
        """Draws made inside leave the host's generator as it was."""
        host = torch.get_rng_state()
        try:
            yield
        finally:
            torch.set_rng_state(host)

    @contextlib.contextmanager
    def replica(self, index: int) -> Iterator[None]:
        """Draws made inside come from the stream of replica `index`."""
        torch.set_rng_state(self._states[index])
        try:
            yield
        finally:
            self._states[index] = torch.get_rng_state()

    @contextlib.contextmanager
    def common(self) -> Iterator[None]:
        """Draws made inside are the same on all instances; the stream in use before goes on afterwards."""
        before = torch.get_rng_state()
        with self.replica(self._replicas):
            yield
        torch.set_rng_state(before)

    def streams(self) -> list[torch.Tensor]:
        """The states of all streams; they are replaced, never changed in place."""
        return self._states.copy()

    def rewind(self, streams: list[torch.Tensor]) -> None:
        """Take over what `streams` returned earlier."""
        self._states = streams

    def words(self) -> list[int]:
        """The state as whole numbers: the seed, then the words of every replica's stream."""
        words = [self.seed]
        for state in self._states:
            words.extend(state.view(torch.int64).tolist())
        return words

    def restore(self, words: Sequence[int]) -> None:
        """Take over what `words` returned earlier; a lone seed restarts the streams."""
        if not words:
            raise Error("A random state needs at least a seed, but the list is empty.")
        self.seed = int(words[0])
        if len(words) == 1:
            self._reseed()
            return
        size = self._states[0].numel() // 8
        if len(words) - 1 != size * self._streams:
            raise Error(
                f"This random state has {len(words) - 1} words; a model with {self._replicas} replica(s) has "
                f"{size * self._streams} here. It was saved for another number of replicas or instances."
            )
        for replica in range(self._streams):
            part = words[1 + replica * size : 1 + (replica + 1) * size]
            self._states[replica] = torch.tensor(list(part), dtype=torch.int64).view(torch.uint8)
