"""Replicas that run side by side and hand tensors to each other: one thread for each replica of this instance, and
they meet at every collective. One of them then talks to the other instances.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from torch import Tensor

if TYPE_CHECKING:
    from tremula.distributed.replica_exchange import ReplicaExchange

Result = TypeVar("Result")
#: seconds that a replica waits for the others
_PATIENCE_SECONDS = 600.0


class Meeting:
    """Where replicas exchange tensors."""

    def __init__(self, replicas: int, elsewhere: ReplicaExchange | None = None) -> None:
        """`replicas` of this instance; `elsewhere` talks for them to those of other instances."""
        self._elsewhere = elsewhere
        self._found: list[Tensor] = []
        self._barrier = threading.Barrier(replicas, timeout=_PATIENCE_SECONDS)
        self._given: list[Tensor | None] = [None] * replicas

    def exchange(self, replica: int, tensor: Tensor) -> list[Tensor]:
        """Give a tensor; the tensors of all replicas of the run."""
        self._given[replica] = tensor
        if self._barrier.wait() == 0:
            self._found = self._everywhere([each for each in self._given if each is not None])
        self._barrier.wait()
        # whoever gives the next tensor waits for the others, which have taken these by then
        return self._found

    def _everywhere(self, own: list[Tensor]) -> list[Tensor]:
        if self._elsewhere is None:
            return own
        share = self._elsewhere.share
        given = {share.first + number: [tensor] for number, tensor in enumerate(own)}
        every = self._elsewhere.gathered(given, own[:1])
        return [every[replica][0] for replica in range(share.total)]

    def leave(self) -> None:
        """A replica has failed: the others need not wait."""
        self._barrier.abort()


def together(meeting: Meeting, turns: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run one turn of each replica; the first error that is not a consequence of another."""

    def guarded(turn: Callable[[], Result]) -> Result:
        try:
            return turn()
        except BaseException:
            meeting.leave()
            raise

    with ThreadPoolExecutor(len(turns)) as pool:
        futures = [pool.submit(guarded, turn) for turn in turns]
    problems = [problem for each in futures if (problem := each.exception()) is not None]
    for problem in problems:
        if not isinstance(problem.__cause__ or problem, threading.BrokenBarrierError):
            raise problem
    if problems:
        raise problems[0]
    return [each.result() for each in futures]
