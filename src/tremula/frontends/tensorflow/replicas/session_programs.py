"""Compiled programs in the graphs of sessions.

A program is one call in the graph, of a function that is traced once. How many replicas run it is decided when a
session is about to run the graph, by the configuration of that time: then the call gets a function with a copy for each
replica. So a graph may be built before IPUs are configured, and replicas need no threads and no sessions of their own.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow import devices, executable_cache, random_seed
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.dialect.device_words import COMPILED_KIND, COMPILED_NEVER_RAN
from tremula.frontends.tensorflow.replicas import context, instances
from tremula.frontends.tensorflow.replicas.analysis import Analysis, is_compiled
from tremula.frontends.tensorflow.replicas.op_copies import build_function
from tremula.frontends.tensorflow.replicas.program import build_on_replicas

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun

_lock = threading.RLock()
_programs: weakref.WeakKeyDictionary[Any, list[SessionProgram]] = weakref.WeakKeyDictionary()
#: of each graph: how many replicas take the elements of an infeed queue, under which configuration
_fed_replicas: weakref.WeakKeyDictionary[Any, dict[str, tuple[int, Any]]] = weakref.WeakKeyDictionary()


class State(NamedTuple):
    """What of a program depends on the configuration.

    Attributes:
        replicas: how many there are.
        same_streams: whether they draw the same random numbers.
        processes: how many processes run the program together.
    """

    replicas: int
    same_streams: bool
    processes: int


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
        self.entry = devices.wrapped(name, COMPILED_KIND, COMPILED_NEVER_RAN)
        self._concrete = concrete
        self._ipus = traced.ipus
        self._infeeds = traced.infeeds
        self._own_name = call.get_attr("f").name
        self._compiled = any(is_compiled(concrete.graph, each) for each in concrete.graph._functions)
        self._prepared = State(1, False, 1)
        self._name = name
        self._looked = False
        #: what the chip model found, once the program has run
        self.modelled: ModelledRun | None = None
        self._functions: dict[State, str] = {}

    @functools.cached_property
    def exchanges(self) -> bool:
        """Whether its replicas exchange data."""
        return Analysis().has_collectives(self._concrete.graph)

    def wanted(self) -> State:
        """As which state it has to run now.

        Raises:
            DeviceError: the device has too few IPUs for one replica.
        """
        replicas = active.replica_count(self._ipus, self.ordinal)
        same_streams = active.prng_stability() or random_seed.identical_replicas(self.ordinal)
        return State(replicas, same_streams, active.process_count())

    def prepare(self) -> State:
        """Let the call run as many replicas as are configured; the state that it has then.

        Raises:
            DeviceError: the device has too few IPUs for one replica.
            ValueError: a group of replicas is not possible with so many.
        """
        wanted = self.wanted()
        if wanted != self._prepared or self._compiled:
            if wanted not in self._functions:
                self._functions[wanted] = self._function(wanted)
            self.call._set_func_attr("f", self._functions[wanted])
            self._prepared = wanted
        return wanted

    def about_to_run(self) -> None:
        """Check its feeds, and note it in the executable cache if there is one.

        Raises:
            FailedPreconditionError: it shares an infeed queue with a program of another number of replicas.
        """
        replicas = self.wanted().replicas
        self._check_infeeds(replicas)
        if not self._looked:
            self._looked = True
            self.modelled = self._look(replicas)
        if executable_cache.wanted():
            executable_cache.program_ready(self._concrete, replicas)

    def _look(self, replicas: int) -> ModelledRun | None:
        """Answer questions about it, and let the chip model look at it, before it first runs."""
        from tremula.frontends.tensorflow.modelling.graph_subject import first_run

        return first_run(self._concrete.graph, self._name, replicas, self.entry)

    def _function(self, state: State) -> str:
        replicas = state.replicas
        if replicas == state.processes == 1 and not self._compiled:
            return str(self._own_name)
        traced = self._concrete.graph
        with (
            _open(self.call.graph) as graph,
            graph.as_default(),
            tf.control_dependencies(None),
            context.program(replicas),
        ):
            built = build_function(
                "ipu_program", lambda *inputs: build_on_replicas(traced, inputs, replicas), traced.inputs
            )
        return tf.compat.as_str(getattr(built, "name", built))

    def _check_infeeds(self, replicas: int) -> None:
        known = _fed_replicas.setdefault(self.call.graph, {})
        configured = active.configured()
        for name in self._infeeds:
            before, holds = known.get(name, (replicas, configured))
            if before != replicas and holds is configured:
                raise tf.errors.FailedPreconditionError(
                    None,
                    self.call,
                    f"The infeed queue {name} feeds a program on {before} replica(s) already, and this one has "
                    f"{replicas}: give each program a separate queue.",
                )
            known[name] = (replicas, configured)


@contextmanager
def _open(graph: Any) -> Iterator[Any]:
    """While functions are added to a graph, which may be finalised: a `MonitoredSession` does that before it runs."""
    finalized = graph.finalized
    if finalized:
        graph._unsafe_unfinalize()
    try:
        yield graph
    finally:
        if finalized:
            graph.finalize()


def add(program: SessionProgram) -> None:
    """Keep a program with its graph."""
    _programs.setdefault(program.call.graph, []).append(program)


def prepare(graph: Any, taken: dict[SessionProgram, State | None]) -> None:
    """Let the programs of a graph have the replicas that are configured, before a session takes over the graph.

    Args:
        graph: the graph.
        taken: the programs that the session has taken over before, which stay as they are, and in which state; new
            ones are added, without a state if they cannot run now.
    """
    found = _programs.get(graph, [])
    if len(found) == len(taken):
        return
    with _lock:
        for program in found:
            if program not in taken:
                try:
                    taken[program] = program.prepare()
                except (tf.errors.OpError, ValueError):
                    taken[program] = None


def check(program: SessionProgram, state: State | None) -> None:
    """Refuse to run a program that a session took over in another state than the one that is configured now.

    Raises:
        FailedPreconditionError: it has another number of replicas now.
        DeviceError, ValueError: it cannot run.
    """
    if state != program.wanted():
        if state is None:
            with _lock:
                program.prepare()
        raise tf.errors.FailedPreconditionError(
            None,
            program.call,
            f"IPUs were configured for {program.wanted().replicas} replica(s) of this program after the session had "
            f"taken over its graph for {1 if state is None else state.replicas}. Configure IPUs before the first "
            f"run of the session, or create a new session.",
        )
    program.about_to_run()


def check_together(programs: Sequence[SessionProgram]) -> None:
    """Refuse to run several programs at once that exchange data with other processes: their order is not fixed.

    Raises:
        FailedPreconditionError: with their names.
    """
    if len(programs) < 2 or not instances.several():
        return
    exchanging = [program for program in programs if program.exchanges]
    if len(exchanging) > 1:
        names = ", ".join(sorted(program.call.name for program in exchanging))
        raise tf.errors.FailedPreconditionError(
            None,
            exchanging[0].call,
            f"One run of a session would run {len(exchanging)} programs ({names}) that exchange data with the other "
            f"processes, which may run them in another order. Run each with a separate Session.run.",
        )


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
