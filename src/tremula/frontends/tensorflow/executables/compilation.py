"""`experimental_application_compile_op`: a program as a file.

The program is traced when the op is made and written when it runs. Arguments that are constants are part of it, other
arguments are inputs of the executable. Variables are inputs too, or part of it with the values that they have when the
op runs. An executable has one replica.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf
from tensorflow.python.framework import func_graph as func_graphs
from tensorflow.python.framework import tensor_util

from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.executables import container, graphs
from tremula.frontends.tensorflow.executables.signature import ELEMENT_TYPES, Entry, Shape, Signature
from tremula.frontends.tensorflow.replicas import analysis, context
from tremula.frontends.tensorflow.replicas.variables import local_variable

_PREFIX = "XLA_Args/"


def experimental_application_compile_op(
    func: Callable[..., Any],
    inputs: Any = None,
    output_path: str | None = None,
    freeze_variables: bool = False,
    name: str | None = None,
) -> Any:
    """Compile a function into an executable.

    Args:
        func: what to compile; called as `func(*inputs)`.
        inputs: its arguments.
        output_path: the file to write; a temporary one by default.
        freeze_variables: whether variables become constants with their present values.
        name: of the op.

    Returns:
        A tensor with the path of the file.
    """
    name = name or "application_compile"
    if output_path is None:
        descriptor, output_path = tempfile.mkstemp(prefix=name, suffix=".poplar_exec")
        os.close(descriptor)
    values = [tf.convert_to_tensor(value) for value in _as_list(inputs)]
    with tf.name_scope(name):
        traced = _trace(func, values, freeze_variables)
        path = Path(os.fspath(output_path))

        def write(*stored: Any) -> Any:
            executable = traced.executable(stored)
            container.write(path, executable)
            return os.fsencode(path)

        with tf.device("/device:CPU:0"), tf.control_dependencies(traced.waits):
            result = tf.numpy_function(write, traced.stored, tf.string, name=name)
    result.set_shape([])
    return result


@dataclass
class _Traced:
    """A traced program.

    Attributes:
        graph: its graph.
        arguments: of the graph, with their names in the signature.
        stored: tensors whose values go into the file.
        waits: ops of the graph around it that have to run before.
    """

    graph: Any
    arguments: list[tuple[container.Argument, str]]
    stored: list[Any]
    waits: list[Any]

    def executable(self, stored: Any) -> container.Executable:
        """With the values of `stored`."""
        configured = active.configured()
        infeeds, outfeeds = graphs.feeds(self.graph)
        self._check(bool(infeeds or outfeeds))
        kept = [
            index
            for index, (argument, _) in enumerate(self.arguments)
            if argument.role in (container.CONSTANT, container.FROZEN)
        ]
        return container.Executable(
            signature=self._signature(infeeds, outfeeds),
            arguments=[argument for argument, _ in self.arguments],
            outputs=[tensor.name for tensor in self.graph.outputs],
            controls=[op.name for op in self.graph.control_outputs],
            infeeds=[container.Feed(feed.name, len(feed.types)) for feed in infeeds],
            outfeeds=[container.Feed(feed.name, len(feed.types)) for feed in outfeeds],
            graph=graphs.portable(self.graph).SerializeToString(deterministic=True),
            values={index: np.asarray(value) for index, value in zip(kept, stored, strict=True)},
            ipus=configured.ipus[0] if configured else 1,
        )

    def _signature(self, infeeds: list[Any], outfeeds: list[Any]) -> Signature:
        given = [
            (argument, label)
            for argument, label in self.arguments
            if argument.role in (container.INPUT, container.VARIABLE)
        ]
        inputs = [Entry(label, argument.shape, number) for number, (argument, label) in enumerate(given)]
        outputs = [
            Entry(tensor.name, _shape(tensor.dtype, tensor.shape), number)
            for number, tensor in enumerate(self.graph.outputs)
        ]
        writes = analysis.Analysis().effects(self.graph).writes
        for index, (argument, label) in enumerate(self.arguments):
            if argument.role in (container.VARIABLE, container.FROZEN) and index in writes:
                outputs.append(Entry(label, argument.shape, len(outputs)))
        return Signature(inputs, outputs, _streams(infeeds), _streams(outfeeds))

    def _check(self, streams: bool) -> None:
        for tensor in [*self.graph.outputs, *self.graph.inputs]:
            if tensor.dtype != tf.resource and tensor.dtype.name not in ELEMENT_TYPES:
                raise ValueError(
                    f"Detected unsupported operations when trying to compile graph: {tensor.name} has the type "
                    f"{tensor.dtype.name}, which the device does not compute with. Cast it to 32 bits."
                )
        tensors = [tensor for op in self.graph.get_operations() for tensor in op.outputs]
        if (
            not streams
            and tensors
            and all(tensor.shape.rank == 0 and tensor.dtype != tf.resource for tensor in tensors)
        ):
            raise ValueError(
                "Cannot serialize a scalar elementwise graph: the host computes it, and there is nothing to compile."
            )


def _trace(func: Callable[..., Any], values: list[Any], freeze: bool) -> _Traced:
    outer = tf.compat.v1.get_default_graph()
    if not tf.executing_eagerly():
        for name in func_graphs.ALLOWLIST_COLLECTIONS:
            # a function shares these lists with the graph around it only if they are there when it is traced
            outer.get_collection_ref(name)

    def program(*args: Any) -> Any:
        called = func
        if not hasattr(func, "python_function"):  # a tf.function converts itself
            called = tf.__internal__.autograph.tf_convert(
                func, tf.__internal__.autograph.control_status_ctx()
            )
        _check_arguments(func, args)
        with context.program(1):
            results = called(*args)
        kept = [value for value in _as_list(results) if not isinstance(value, tf.Operation)]
        return [tf.convert_to_tensor(value) for value in tf.nest.flatten(kept) if value is not None]

    graph = func_graphs.func_graph_from_py_func(
        "application", program, [tf.TensorSpec(value.shape, value.dtype) for value in values], {}
    )
    arguments: list[tuple[container.Argument, str]] = []
    stored: list[Any] = []
    variables = {id(v.handle): v for v in map(local_variable, graph.variables)}
    externals = [*values, *(external for external, _ in graph.captures)]
    for external, internal in zip(externals, graph.inputs, strict=True):
        argument, label, value = _argument(external, internal.op.name, variables, freeze)
        arguments.append((argument, _PREFIX + label))
        if value is not None:
            stored.append(value)
    return _Traced(graph, arguments, stored, list(graph._function_captures.control))


def _argument(
    external: Any, placeholder: str, variables: dict[int, Any], freeze: bool
) -> tuple[container.Argument, str, Any]:
    """The role of what a traced program gets from outside, its name, and the tensor to store (or None)."""
    if external.dtype == tf.resource:
        variable = variables.get(id(external))
        if variable is not None:
            dtype, shape, label = variable.dtype, variable.shape, variable.name.partition(":")[0]
        elif not hasattr(external, "numpy") and external.op.type == "VarHandleOp":
            dtype, shape = external.op.get_attr("dtype"), tf.TensorShape(external.op.get_attr("shape"))
            label = external.op.name
        else:
            raise ValueError(
                f"An executable cannot contain the resource {external!r}: it supports variables, infeed and "
                "outfeed queues."
            )
        role = container.FROZEN if freeze else container.VARIABLE
        value = None
        if freeze:
            value = (
                variable
                if variable is not None
                else tf.raw_ops.ReadVariableOp(resource=external, dtype=dtype)
            )
            value = tf.convert_to_tensor(value)
        return container.Argument(placeholder, role, _shape(dtype, shape)), label, value
    constant = tensor_util.constant_value(external)
    shape = _shape(external.dtype, external.shape, checked=False)
    if constant is not None:
        return (
            container.Argument(placeholder, container.CONSTANT, shape),
            placeholder,
            tf.constant(constant, external.dtype),
        )
    label = placeholder if hasattr(external, "numpy") else external.op.name
    return container.Argument(placeholder, container.INPUT, shape), label, None


def _streams(feeds: list[Any]) -> list[Entry]:
    pairs = [(feed, index) for feed in feeds for index in range(len(feed.types))]
    return [
        Entry(
            f"{feed.name.rpartition('=')[2]}.{index}", _shape(feed.types[index], feed.shapes[index]), number
        )
        for number, (feed, index) in enumerate(pairs)
    ]


def _shape(dtype: Any, shape: Any, checked: bool = True) -> Shape:
    dtype = tf.as_dtype(dtype).base_dtype
    if checked and not shape.is_fully_defined():
        raise ValueError(
            f"The device compiles programs with fixed shapes, and a tensor of this one has the shape {shape}."
        )
    dimensions = shape.as_list() if shape.is_fully_defined() else []
    return Shape(dtype.name, dimensions)


def _check_arguments(func: Callable[..., Any], args: Any) -> None:
    parameters = inspect.signature(func).parameters.values()
    needed = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    missing = [f"'{parameter.name}'" for parameter in needed[len(args) :]]
    if missing:
        name = getattr(func, "__name__", "the function")
        raise TypeError(
            f"{name}() is missing {len(missing)} required positional arguments ({', '.join(missing)}): give them in "
            f"`inputs` when it is compiled."
        )


def _as_list(values: Any) -> list[Any]:
    if values is None:
        return []
    return list(values) if isinstance(values, list | tuple) else [values]
