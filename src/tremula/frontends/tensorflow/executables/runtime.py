"""The embedded runtime: executables as ops of a graph, or called in eager mode."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.executables import container, engine
from tremula.frontends.tensorflow.executables.signature import (
    Entry,
    PoplarExecutableProto,
    Signature,
    to_json,
)

#: how long a pipeline waits for data, unless a program says otherwise, in microseconds
DEFAULT_TIMEOUT = 5000


class RuntimeContext:
    """A started executable; `embedded_runtime_start` makes it."""

    def __init__(
        self, name: str, executable_file: Any, executable_proto: PoplarExecutableProto, start_output: Any
    ) -> None:
        self._name = name
        self._executable_file = executable_file
        self._executable_proto = executable_proto
        self._start_output = start_output

    def start_output(self) -> Any:
        """The tensor of the op that starts it."""
        return self._start_output

    def name(self) -> str:
        """The name of its engine."""
        return self._name

    def signature(self) -> Signature:
        """What goes in and comes out."""
        return self._executable_proto.embedded_runtime_config.signature

    def output_types(self) -> list[Any]:
        """The types that a call gives."""
        return [tf.as_dtype(entry.shape.dtype) for entry in self.signature().streamed_outputs]


def embedded_runtime_start(
    executable_file: Any, inputs: Any, name: str, timeout: int | None = None
) -> RuntimeContext:
    """Start an executable.

    Args:
        executable_file: the path, as text or as a tensor whose value is known.
        inputs: the values of its inputs: a list in their order, or a dictionary by name.
        name: of the engine; an engine of this name that runs already is used.
        timeout: how long the device waits for data before it completes a pipeline without it. Here nothing is held back
            in a pipeline, so that it has no effect.

    Raises:
        Exception: the inputs are not those of the executable.
    """
    path = _path(executable_file)
    description = PoplarExecutableProto()
    description.embedded_runtime_config.signature = container.read(path).signature
    expected = description.embedded_runtime_config.signature.inputs
    values = _in_order(inputs, expected)
    _check(values, expected, "Embedded application runtime expects", Exception)
    ordered = [
        value
        for _, value in sorted(zip((entry.argument for entry in expected), values, strict=True), key=_first)
    ]
    started = application_runtime(
        ordered, os.fspath(path), name, DEFAULT_TIMEOUT if timeout is None else timeout
    )
    return RuntimeContext(name, executable_file, description, started)


def embedded_runtime_call(inputs: Sequence[Any], context: RuntimeContext) -> list[Any]:
    """Give one element of each infeed to a started executable; the tensors that it enqueues.

    Raises:
        Exception: the inputs are not those of the executable.
        TypeError: one has another type.
    """
    signature = context.signature()
    _check(list(inputs), signature.streamed_inputs, "Embedded application call expects", TypeError)
    results = application_call(inputs, context.start_output(), context.output_types(), context.name())
    for result, entry in zip(results, signature.streamed_outputs, strict=True):
        result.set_shape(entry.shape.dimensions)
    return results


def embedded_runtime_start_and_call(
    executable_file: Any, startup_inputs: Any, call_inputs: Sequence[Any], name: str
) -> tuple[list[Any], RuntimeContext]:
    """Start an executable and call it once."""
    context = embedded_runtime_start(executable_file, startup_inputs, name)
    return embedded_runtime_call(call_inputs, context), context


def embedded_runtime_stop(context: RuntimeContext) -> None:
    """Refuse: as on the device, an engine ends with its process."""
    raise NotImplementedError(
        f"Embedded runtime doesn't support stopping an engine ({context.name()!r}): it ends with the process."
    )


def application_runtime(
    inputs: Sequence[Any], filename: Any, engine_name: str, timeout_us: int = DEFAULT_TIMEOUT
) -> Any:
    """The tensor of an op that starts an engine, unless it runs."""

    def start(path: Any, *values: Any) -> Any:
        engine.start(engine_name, Path(os.fsdecode(np.asarray(path).item())), values)
        return True

    with tf.device("/device:CPU:0"):
        started = tf.numpy_function(start, [tf.convert_to_tensor(filename, tf.string), *inputs], tf.bool)
    started.set_shape([])
    return started


def application_call(
    inputs: Sequence[Any], anchor: Any, outfeed_types: Sequence[Any], engine_name: str
) -> list[Any]:
    """The tensors of an op that calls an engine, after the op that starts it."""

    def call(_: Any, *values: Any) -> list[Any]:
        return engine.find(engine_name).call(values)

    with tf.device("/device:CPU:0"):
        results = tf.numpy_function(call, [anchor, *inputs], list(outfeed_types))
    return list(results) if isinstance(results, list | tuple) else [results]


def find_opaque_blob(filename_tensor: Any) -> bytes:
    """The description of an executable file, as `PoplarExecutableProto` parses it."""
    return json.dumps(to_json(container.read(_path(filename_tensor)).signature)).encode()


def _path(given: Any) -> Path:
    if tf.is_tensor(given):
        value = tf.get_static_value(given)
        if value is None:
            if isinstance(tf.compat.v1.get_default_graph(), tf.__internal__.FuncGraph):
                raise ValueError(
                    "The path of an executable has to be known when a function is traced: give it as text."
                )
            with tf.compat.v1.Session(graph=given.graph) as session:
                value = session.run(given)
        given = value.item() if hasattr(value, "item") else value
    return Path(os.fsdecode(given))


def _in_order(inputs: Any, expected: list[Entry]) -> list[Any]:
    if isinstance(inputs, dict):
        for entry in expected:
            if inputs.get(entry.name) is None:
                raise Exception(
                    f"Failed to find input tensor with name '{entry.name}' in input dictionary. It has: "
                    f"{', '.join(map(str, inputs))}."
                )
        return [inputs[entry.name] for entry in expected]
    if not isinstance(inputs, list | tuple):
        raise Exception(f"Expected the inputs to be a list. They are {inputs!r}.")
    return list(inputs)


def _check(values: list[Any], expected: list[Entry], who: str, type_error: type[Exception]) -> None:
    if len(values) != len(expected):
        raise Exception(f"{who} {len(expected)} inputs, but {len(values)} were provided.")
    for position, (value, entry) in enumerate(zip(values, expected, strict=True)):
        shape = list(value.shape)
        if shape != entry.shape.dimensions:
            raise Exception(
                f"Mismatched input shape at position {position} ('{entry.name}'). Expected {entry.shape.dimensions}, "
                f"but input {position} has shape {shape}."
            )
        dtype = tf.as_dtype(entry.shape.dtype)
        if dtype != value.dtype:
            raise type_error(
                f"Mismatched input dtype at position {position} ('{entry.name}'). Expected {dtype}, but input "
                f"{position} has dtype {value.dtype}."
            )


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]
