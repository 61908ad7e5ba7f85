"""Replicas that run side by side and hand tensors to each other: one thread each, which meet at every collective."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from torch import Tensor

Result = TypeVar("Result")
#: seconds that a replica waits for the others
_PATIENCE_SECONDS = 600.0


class Meeting:
    """Where replicas exchange tensors."""

    def __init__(self, replicas: int) -> None:
        self._barrier = threading.Barrier(replicas, timeout=_PATIENCE_SECONDS)
        self._given: list[Tensor | None] = [None] * replicas

    def exchange(self, replica: int, tensor: Tensor) -> list[Tensor]:
        """Give a tensor; the tensors of all replicas."""
        self._given[replica] = tensor
        self._barrier.wait()
        found = [each for each in self._given if each is not None]
        self._barrier.wait()  # nobody gives the next before all have taken these
        return found

    def leave(self) -> None:
        """A replica has failed: the others need not wait."""
        self._barrier.abort()


def together(meeting: Meeting, turns: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run one turn of each replica; the first error that is no consequence of another."""

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
