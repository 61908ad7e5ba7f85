"""How many replicas the program that is being traced will have."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tremula.distributed import launch_environment
from tremula.frontends.tensorflow.config import active

_local = threading.local()


@dataclass
class Program:
    """A program that is being traced.

    Attributes:
        replicas: how many there are, as far as is known by now.
        ordinal: the number of the device.
        exact: whether the number of replicas was given and stays.
        late: whether the number of replicas is decided when the program first runs, by the configuration of that
            time: graphs of sessions are often built before IPUs are configured.
        ipus: how many IPUs one replica uses, as far as is known by now.
        infeeds: names of the infeed queues that it takes elements from.
    """

    replicas: int
    ordinal: int
    exact: bool
    late: bool = False
    ipus: int = 1
    infeeds: set[str] = field(default_factory=set)


@contextmanager
def program(replicas: int, ordinal: int = 0, *, exact: bool = False, late: bool = False) -> Iterator[Program]:
    """While a program for so many replicas of a device is traced."""
    before = getattr(_local, "programs", ())
    traced = Program(replicas, ordinal, exact, late)
    _local.programs = (*before, traced)
    try:
        yield traced
    finally:
        _local.programs = before


def in_program() -> bool:
    """Whether a program of the device is being traced."""
    return bool(getattr(_local, "programs", ()))


def current() -> Program | None:
    """The program that is being traced; None outside of one."""
    programs: tuple[Program, ...] = getattr(_local, "programs", ())
    return programs[-1] if programs else None


def note_infeed(name: str) -> None:
    """Say that the program that is being traced takes elements from an infeed queue."""
    traced = current()
    if traced is not None:
        traced.infeeds.add(name)


def decided_late() -> bool:
    """Whether the program that is being traced gets its number of replicas when it first runs."""
    traced = current()
    return traced is not None and traced.late


def replica_count() -> int:
    """The replicas of the program that is being traced; outside of one, as many as the first device has room for.

    A program whose number is decided late must not depend on it: see `collectives.replica_count`.
    """
    traced = current()
    return traced.replicas if traced is not None else active.replica_count()


def about_to_run(graph: Any) -> None:
    """Say that a program is about to run for the first time, that was traced as this graph."""
    if launch_environment.instances() > 1:
        # here, because it imports what uses this module
        from tremula.frontends.tensorflow.distributed import independent_programs

        independent_programs.add_program(graph)


def total_replica_count() -> int:
    """The replicas of all processes that run the program that is being traced."""
    return replica_count() * active.process_count()


def alone() -> bool:
    """Whether a program is being traced that has one replica, in one process, and will have no more."""
    return in_program() and not decided_late() and total_replica_count() == 1


def need_ipus(ipus: int) -> None:
    """Say that one replica of the program that is being traced uses so many IPUs; then there are fewer replicas.

    Call it before ops are made that depend on the number of replicas.

    Raises:
        DeviceError: the device has too few IPUs. Of a program whose number of replicas is decided late, nothing is
            raised before it runs.
    """
    traced = current()
    if traced is None or traced.exact or ipus <= traced.ipus:
        return
    if not traced.late:
        traced.replicas = active.replica_count(ipus, traced.ordinal)
    traced.ipus = ipus
