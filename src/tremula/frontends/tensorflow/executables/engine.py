"""Executables that run: an engine for each, with a session of its own.

As on the device, the program runs on its own and waits for data: a thread runs it again and again, and a call gives it
one element of each infeed and takes one element of each outfeed. What the program carries from one iteration to the
next, and its variables, stay where they are between calls. After an error the engine starts again with the next call.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.ops import gen_data_flow_ops, gen_resource_variable_ops

from tremula.frontends.tensorflow.executables import container, graphs

v1 = tf.compat.v1


class Engine:
    """One running executable.

    Args:
        path: its file.
        inputs: the values of its signature's inputs.

    Raises:
        ExecutableError: the file is not one.
        ValueError: it has no feeds, so that it cannot be called.
    """

    def __init__(self, path: Path, inputs: Sequence[Any]) -> None:
        self.path = path
        self._executable = container.read(path)
        if not self._executable.outfeeds:
            raise ValueError(
                f"The executable {path} has no outfeed, so a call would return nothing: enqueue the results of the "
                f"program to an IPUOutfeedQueue."
            )
        self._definition = graphs.checked(self._executable, path)
        self._inputs = list(inputs)
        self._lock = threading.Lock()
        self._problem: Exception | None = None
        self._session: Any = None
        self._thread: threading.Thread | None = None

    def call(self, values: Sequence[Any]) -> list[Any]:
        """Give one element to each infeed and take one from each outfeed.

        Raises:
            InternalError: the program failed.
        """
        with self._lock:
            if self._session is None:
                self._start()
            try:
                self._session.run(self._put, dict(zip(self._slots, values, strict=True)))
                return list(self._session.run(self._take))
            except (tf.errors.CancelledError, tf.errors.OutOfRangeError, tf.errors.AbortedError) as problem:
                cause = self._problem or problem
                self._close()
                raise tf.errors.InternalError(
                    None, None, f"[Poplar][Execute engine] application_runtime_error: {cause}"
                ) from cause

    def stop(self) -> None:
        """End the program."""
        with self._lock:
            self._close()

    def _start(self) -> None:
        graph = tf.Graph()
        try:
            with graph.as_default():
                self._build()
        except (ValueError, TypeError, KeyError) as problem:
            raise container.ExecutableError(
                f"{self.path} is damaged: its graph cannot be built ({problem}). Compile the program again."
            ) from problem
        # calls come from ops of other sessions, whose threads they hold: this one needs threads of its own
        options = v1.ConfigProto(use_per_session_threads=True, allow_soft_placement=True)
        self._session = v1.Session(graph=graph, config=options)
        self._session.run(self._initial, self._initial_values)
        self._problem = None
        self._thread = threading.Thread(
            target=self._run, args=(self._session,), name="executable", daemon=True
        )
        self._thread.start()

    def _build(self) -> None:
        executable = self._executable
        given = iter(self._inputs)
        mapped: dict[str, Any] = {}
        self._initial_values: dict[Any, Any] = {}
        self._constant: dict[Any, Any] = {}
        initial = []
        for number, argument in enumerate(executable.arguments):
            stored = argument.role in (container.CONSTANT, container.FROZEN)
            value = executable.values[number] if stored else next(given)
            dtype = tf.as_dtype(argument.shape.dtype)
            slot = v1.placeholder(dtype, argument.shape.dimensions)
            if argument.role in (container.VARIABLE, container.FROZEN):
                handle = gen_resource_variable_ops.var_handle_op(
                    dtype=dtype, shape=argument.shape.dimensions, shared_name=f"argument {number}"
                )
                initial.append(gen_resource_variable_ops.assign_variable_op(handle, slot))
                self._initial_values[slot] = value
                mapped[f"{argument.placeholder}:0"] = handle
            else:
                self._constant[slot] = value
                mapped[f"{argument.placeholder}:0"] = slot
        self._initial = tf.group(*initial)
        found = tf.import_graph_def(
            self._definition,
            input_map=mapped,
            return_elements=[*executable.outputs, *executable.controls],
            name="program",
        )
        self._program = tf.group(*found)
        entries = iter(executable.signature.streamed_inputs)
        self._slots, puts, takes, closes = [], [], [], []
        for feed in executable.infeeds:
            shapes = [next(entries).shape for _ in range(feed.elements)]
            slots = [v1.placeholder(tf.as_dtype(shape.dtype), shape.dimensions) for shape in shapes]
            queue = _queue(feed.name, shapes, with_shapes=True)
            puts.append(gen_data_flow_ops.queue_enqueue_v2(queue, slots))
            closes.append(gen_data_flow_ops.queue_close_v2(queue, cancel_pending_enqueues=True))
            self._slots += slots
        entries = iter(executable.signature.streamed_outputs)
        for feed in executable.outfeeds:
            shapes = [next(entries).shape for _ in range(feed.elements)]
            queue = _queue(feed.name, shapes)
            takes += gen_data_flow_ops.queue_dequeue_v2(queue, [tf.as_dtype(shape.dtype) for shape in shapes])
            closes.append(gen_data_flow_ops.queue_close_v2(queue, cancel_pending_enqueues=True))
        self._put, self._take, self._end = tf.group(*puts), takes, tf.group(*closes)

    def _run(self, session: Any) -> None:
        try:
            while True:
                session.run(self._program, self._constant)
        except Exception as problem:
            self._problem = problem
        finally:
            _quietly(session, self._end)

    def _close(self) -> None:
        session, thread = self._session, self._thread
        self._session = self._thread = None
        if session is not None:
            _quietly(session, self._end)
            if thread is not None:
                thread.join()
            session.close()


def _queue(name: str, shapes: Sequence[Any], with_shapes: bool = False) -> Any:
    """The queue of this name; the attributes have to be those of the program's."""
    return gen_data_flow_ops.fifo_queue_v2(
        component_types=[tf.as_dtype(shape.dtype) for shape in shapes],
        shapes=[shape.dimensions for shape in shapes] if with_shapes else [],
        capacity=-1,
        shared_name=name,
    )


def _quietly(session: Any, operation: Any) -> None:
    try:
        session.run(operation)
    except (tf.errors.OpError, RuntimeError):
        return


_engines: dict[str, Engine] = {}
_lock = threading.Lock()


def start(name: str, path: Path, inputs: Sequence[Any]) -> Engine:
    """The engine of this name; it is made if there is none.

    Raises:
        AlreadyExistsError: there is one that runs another file.
    """
    with _lock:
        known = _engines.get(name)
        if known is None:
            known = _engines[name] = Engine(path, inputs)
        elif known.path != path:
            raise tf.errors.AlreadyExistsError(
                None,
                None,
                f"The engine {name!r} runs {known.path}, so it cannot run {path}: choose another name.",
            )
        return known


def find(name: str) -> Engine:
    """The engine of this name.

    Raises:
        NotFoundError: it was not started.
    """
    with _lock:
        if name not in _engines:
            raise tf.errors.NotFoundError(
                None, None, f"No engine {name!r} was started: call embedded_runtime_start."
            )
        return _engines[name]


@atexit.register
def stop_all() -> None:
    """End all programs."""
    with _lock:
        engines = list(_engines.values())
        _engines.clear()
    for engine in engines:
        engine.stop()
