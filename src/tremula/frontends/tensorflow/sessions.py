"""Sessions of TensorFlow 1 style programs."""

from __future__ import annotations

import functools
import os
from time import perf_counter
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import session
from tensorflow.python.eager import context

from tremula.distributed import launch_environment
from tremula.frontends.tensorflow import devices
from tremula.frontends.tensorflow.replicas import session_programs
from tremula.frontends.tensorflow.replicas.session_programs import SessionProgram
from tremula.frontends.tensorflow.static_shape import static_sizes

#: in a session: which programs run for the fetches of a call
_NEEDED = "_tremula_needed_programs"
#: in a session: the programs that it has taken over from its graph
_TAKEN = "_tremula_taken_programs"
#: where several processes run a program: an op that waits for the others holds one of TensorFlow's threads
_WAITING_THREADS = 16


def install() -> None:
    """Ops whose device is an IPU are placed on the CPU, also in sessions; compiled programs run on the device."""
    _give_sessions_threads()
    _place_softly()
    _give_sessions_soft_placement()
    _prepare_programs()
    _run_programs_on_devices()


def _give_sessions_threads() -> None:
    """Let each session have the threads that its configuration asks for.

    Stock TensorFlow makes one pool for all when the first function of a process is built, with its default size. A
    compiled program is a function, so that would be before the program can say how many threads its session has.
    """
    os.environ.setdefault("TF_OVERRIDE_GLOBAL_THREADPOOL", "1")


def _give_sessions_soft_placement() -> None:
    stock = session.BaseSession.__init__

    @functools.wraps(stock)
    def with_soft_placement(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        options = config_pb2.ConfigProto()
        if isinstance(config, config_pb2.ConfigProto):
            options.CopyFrom(config)
        options.allow_soft_placement = True
        if launch_environment.instances() > 1 and not options.inter_op_parallelism_threads:
            options.inter_op_parallelism_threads = _WAITING_THREADS
        stock(self, target, graph, options)

    session.BaseSession.__init__ = with_soft_placement


def _prepare_programs() -> None:
    """A session takes over what is new in its graph before each run: the moment to decide how many replicas run."""
    stock = session.BaseSession._extend_graph

    @functools.wraps(stock)
    def extend_graph(self: Any) -> None:
        session_programs.prepare(self.graph, _taken(self))
        stock(self)

    session.BaseSession._extend_graph = extend_graph


def _taken(run_in: Any) -> dict[SessionProgram, Any]:
    """The programs that a session has taken over, and in which state."""
    known: dict[SessionProgram, Any] | None = getattr(run_in, _TAKEN, None)
    if known is None:
        known = {}
        setattr(run_in, _TAKEN, known)
    return known


def _run_programs_on_devices() -> None:
    stock = session.BaseSession._do_run

    @functools.wraps(stock)
    def do_run(
        self: Any,
        handle: Any,
        target_list: list[Any],
        fetch_list: list[Any],
        feed_dict: Any,
        options: Any,
        run_metadata: Any,
    ) -> Any:
        programs = _needed(self, [*target_list, *fetch_list])
        if not programs:
            return stock(self, handle, target_list, fetch_list, feed_dict, options, run_metadata)
        runs = [devices.require_device(program.ordinal) for program in programs]
        session_programs.prepare(self.graph, _taken(self))
        for program in programs:
            session_programs.check(program, _taken(self)[program])
        session_programs.check_together(programs)
        if not all(runs):
            return [_zeros(tensor) for tensor in fetch_list]
        started = perf_counter()
        results = stock(self, handle, target_list, fetch_list, feed_dict, options, run_metadata)
        seconds = perf_counter() - started
        for program in programs:
            devices.ran(program.entry, program.ordinal, seconds / len(programs), modelled=program.modelled)
        return results

    session.BaseSession._do_run = do_run


def _needed(run_in: Any, fetches: list[Any]) -> list[SessionProgram]:
    """The compiled programs that a session runs for these fetches."""
    known: dict[tuple[str, ...], list[SessionProgram]] | None = getattr(run_in, _NEEDED, None)
    if known is None:
        known = {}
        setattr(run_in, _NEEDED, known)
    key = tuple(fetch.name for fetch in fetches)
    if key not in known:
        known[key] = session_programs.needed_for(run_in.graph, fetches)
    return known[key]


def _zeros(tensor: Any) -> Any:
    """What is given for a tensor if the device is for compilation only."""
    return np.zeros([length or 1 for length in static_sizes(tensor)], tensor.dtype.as_numpy_dtype)


def _place_softly() -> None:
    known = context.context_safe()
    if known is not None:
        tf.config.set_soft_device_placement(True)
        if known._context_handle is None:
            _add_threads(known)
        return
    # there is no context yet, and none is made now: a program may still turn eager execution off
    stock = context._create_context

    @functools.wraps(stock)
    def create() -> None:
        stock()
        context.context_safe()._soft_device_placement = True
        _add_threads(context.context_safe())

    context._create_context = create


def _add_threads(eager: Any) -> None:
    """Give a context that has not begun threads for ops that wait, unless the program chose a number."""
    if launch_environment.instances() > 1 and not eager._inter_op_parallelism_threads:
        eager._inter_op_parallelism_threads = _WAITING_THREADS
