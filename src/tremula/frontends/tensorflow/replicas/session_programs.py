"""Compiled programs in the graphs of sessions.

A program is one call in the graph, of a function that is traced once. How many replicas run it is decided when a
session is about to run the graph, by the configuration of that time: then the call gets a function with a copy for each
replica. So a graph may be built before IPUs are configured, and replicas need no threads and no sessions of their own.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tremula.frontends.tensorflow import devices, executable_cache, random_seed
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.replicas import context
from tremula.frontends.tensorflow.replicas.analysis import is_compiled
from tremula.frontends.tensorflow.replicas.lowering import build_function
from tremula.frontends.tensorflow.replicas.program import build_on_replicas

_lock = threading.RLock()
_programs: weakref.WeakKeyDictionary[Any, list[SessionProgram]] = weakref.WeakKeyDictionary()


class SessionProgram:
    """One compiled program.

    Args:
        call: the operation that calls the traced function.
        concrete: the traced function, as one replica runs it.
        traced: what was found while it was traced.
        name: what the user calls it.
    """

    def __init__(self, call: Any, concrete: Any, traced: context.Program, name: str) -> None:
        self.call = call
        self.ordinal = traced.ordinal
        self.entry = devices.wrapped(name)
        self._concrete = concrete
        self._ipus = traced.ipus
        self._own_name = call.get_attr("f").name
        self._compiled = any(is_compiled(concrete.graph, each) for each in concrete.graph._functions)
        self._prepared: tuple[Any, ...] = (1, False, False)
        self._functions: dict[tuple[Any, ...], str] = {}

    @property
    def replicas(self) -> int:
        """How many replicas run it now.

        Raises:
            DeviceError: the device has too few IPUs for one replica.
        """
        return active.replica_count(self._ipus, self.ordinal)

    def prepare(self) -> None:
        """Let the call run as many replicas as are configured."""
        same_streams = active.prng_stability() or random_seed.identical_replicas(self.ordinal)
        wanted = (self.replicas, same_streams, self._compiled)
        if wanted == self._prepared:
            return
        if wanted not in self._functions:
            self._functions[wanted] = self._function(self.replicas)
        self.call._set_func_attr("f", self._functions[wanted])
        self._prepared = wanted

    def _function(self, replicas: int) -> str:
        if replicas == 1 and not self._compiled:
            return str(self._own_name)
        traced = self._concrete.graph
        with self.call.graph.as_default(), tf.control_dependencies(None), context.program(replicas):
            built = build_function(
                "ipu_program", lambda *inputs: build_on_replicas(traced, inputs, replicas), traced.inputs
            )
        return tf.compat.as_str(getattr(built, "name", built))

    def ready(self) -> None:
        """Note it in the executable cache, if there is one."""
        if executable_cache.wanted():
            executable_cache.program_ready(self._concrete, self.replicas)


def add(program: SessionProgram) -> None:
    """Keep a program with its graph."""
    _programs.setdefault(program.call.graph, []).append(program)


def prepare(graph: Any) -> None:
    """Let the programs of a graph that a session is about to run have the replicas that are configured.

    Raises:
        DeviceError: a device has too few IPUs.
    """
    found = _programs.get(graph)
    if found:
        with _lock:
            for program in found:
                program.prepare()


def needed_for(graph: Any, fetches: Iterable[Any]) -> list[SessionProgram]:
    """The programs that run when these tensors and operations are fetched."""
    found = _programs.get(graph)
    if not found:
        return []
    calls = {program.call: program for program in found}
    needed = []
    waiting = [getattr(fetch, "op", fetch) for fetch in fetches]
    seen = set(waiting)
    while waiting:
        op = waiting.pop()
        if op in calls:
            needed.append(calls[op])
        for other in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return needed
