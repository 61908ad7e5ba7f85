"""`ipu_compiler.compile`: a computation of a graph as one program of the device.

The computation is traced as a function of its own, so that its side effects happen in the order in which it has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.eager.polymorphic_function import tracing_compilation
from tensorflow.python.framework import device as tf_device
from tensorflow.python.ops import control_flow_ops

from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.replicas import context, session_programs
from tremula.frontends.tensorflow.replicas.session_programs import SessionProgram


def compile(computation: Callable[..., Any], inputs: Sequence[Any] | None = None) -> Any:
    """Build the program of `computation(*inputs)` in the current graph.

    Returns:
        The tensors that it gives, in a list or structure like its own; an operation if it gives none.

    Raises:
        ValueError: it gives operations before tensors, or an `EstimatorSpec`.
        Exception: nothing of it is placed on an IPU.
    """
    found: dict[str, Any] = {}
    arguments = [tf.nest.map_structure(tf.convert_to_tensor, value) for value in inputs or []]
    device = _current_device()
    ordinal = _ordinal(device)
    late = not tf.executing_eagerly()
    replicas = 1 if late else active.replica_count(ordinal=ordinal)

    def program(*args: Any) -> Any:
        with context.program(replicas, ordinal, late=late) as traced, tf.device(device):
            outputs = computation(*args)
        found["traced"] = traced
        _refuse_estimator_specs(outputs)
        tensors, operations, found["structure"] = _split(outputs)
        found["placed"] = _placed_on_ipu(tf.compat.v1.get_default_graph(), device)
        with tf.control_dependencies(operations):
            return [tf.identity(tensor) for tensor in tensors]

    if tf.executing_eagerly():
        results = tf.function(program, autograph=False)(*arguments)
    else:
        name = getattr(computation, "__name__", "<")
        results, operation = _call(program, arguments, found, "computation" if name.startswith("<") else name)
    if not found["placed"]:
        raise Exception(
            "A computation has been compiled, but it is not placed on an IPU. Put it into the scope of a device:\n"
            "    with ipu.scopes.ipu_scope('/device:IPU:0'):\n"
            "        result = ipu.ipu_compiler.compile(computation, inputs)"
        )
    if not results:
        return None if tf.executing_eagerly() else operation
    structure = found["structure"]
    return list(results) if structure is None else tf.nest.pack_sequence_as(structure, results)


def _call(
    program: Callable[..., Any], arguments: list[Any], found: dict[str, Any], name: str
) -> tuple[Any, Any]:
    """Call a function in a graph, on all replicas; also gives the operation of the call."""
    graph = tf.compat.v1.get_default_graph()
    before = len(graph.get_operations())
    # not a `tf.function`, which would keep new variables out of the graph's collections
    options = tracing_compilation.TracingOptions(program, "ipu_program", autograph=False)
    with graph.as_default():  # new variables belong to it, also if it is the global graph of an eager process
        concrete = tracing_compilation.trace_function(arguments, {}, options)
    flat = concrete.function_type.unpack_inputs(concrete.function_type.bind(*arguments))
    context.about_to_run(concrete.graph)
    results = concrete._call_flat(flat, concrete.captured_inputs)
    calls = [
        op
        for op in graph.get_operations()[before:]
        if op.type in ("PartitionedCall", "StatefulPartitionedCall")
    ]
    for call in calls:
        session_programs.add(SessionProgram(call, concrete, found["traced"], name))
    return results, tf.group(*calls) if calls else control_flow_ops.no_op()


def _split(outputs: Any) -> tuple[list[Any], list[Any], Any]:
    """Tensors and operations of the outputs, and the structure that the results get (None: a list)."""
    if outputs is None:
        return [], [], None
    if isinstance(outputs, tf.Operation):
        return [], [outputs], None
    if not isinstance(outputs, (list, tuple)):
        if isinstance(outputs, dict) or tf.nest.is_nested(outputs):
            return [tf.convert_to_tensor(value) for value in tf.nest.flatten(outputs)], [], outputs
        return [tf.convert_to_tensor(outputs)], [], None
    operations = [value for value in outputs if isinstance(value, tf.Operation)]
    rest = [value for value in outputs if not isinstance(value, tf.Operation)]
    if any(isinstance(value, tf.Operation) for value in outputs[: len(rest)]):
        raise ValueError(
            "IPU computation must return zero or more Tensor values followed by zero or more Operations; this one "
            "mixes them."
        )
    flat = [tf.convert_to_tensor(value) for value in tf.nest.flatten(rest)]
    nested = any(tf.nest.is_nested(value) for value in rest)
    return flat, operations, rest if nested else None


def _current_device() -> str | None:
    if tf.executing_eagerly():
        return tf.compat.v1.get_default_graph()._device_function_stack and None
    with tf.name_scope(""):
        probe = control_flow_ops.no_op(name="ipu_device")
    return probe.device or None


def _ordinal(device: str | None) -> int:
    spec = tf_device.DeviceSpec.from_string(device or "")
    return spec.device_index or 0 if spec.device_type == "IPU" else 0


def _placed_on_ipu(graph: Any, device: str | None) -> bool:
    # the body of a loop is a function of its own
    graphs = [graph, *(function.graph for function in graph._functions.values())]
    ops = [op for g in graphs for op in g.get_operations() if op.type not in ("NoOp", "Placeholder")]
    on_ipu = (
        tf_device.DeviceSpec.from_string(name).device_type == "IPU"
        for name in [device or "", *(o.device for o in ops)]
    )
    return not ops or any(on_ipu)


def _refuse_estimator_specs(outputs: Any) -> None:
    values = outputs if isinstance(outputs, (list, tuple)) and not hasattr(outputs, "_fields") else [outputs]
    for value in values:
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            _refuse_estimator_specs(value)
        elif type(value).__name__ in (
            "EstimatorSpec",
            "IPUEstimatorSpec",
            "TPUEstimatorSpec",
            "_TPUEstimatorSpec",
        ):
            raise ValueError(
                "The output of the computation contains an EstimatorSpec. An IPUEstimator compiles its model by "
                "itself: do not call ipu_compiler.compile for it."
            )
