"""Scopes that say where ops run and how: device, shard, host, precision of partial sums, stochastic rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf
from tensorflow.compiler.xla import xla_data_pb2
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import ops

from tremula.frontends.tensorflow import sharding
from tremula.frontends.tensorflow.replicas.context import in_program, need_ipus

FRONTEND_ATTRIBUTES_NAME = "_XlaFrontendAttributes"
OUTSIDE_COMPILATION_NAME = "_xla_outside_compilation"


def _graph() -> Any:
    return tf.compat.v1.get_default_graph()


@contextmanager
def ipu_jit_scope(ipu_scope: Any) -> Iterator[None]:
    """Ops that belong to one compiled program; `ipu_scope` names it."""
    # without `_XlaCompile`, which would make stock TensorFlow compile the ops with XLA
    attributes = {"_XlaScope": attr_value_pb2.AttrValue(s=f"jit_scope_ipu_{ipu_scope}".encode())}
    with _graph()._attr_scope(attributes):
        yield


@contextmanager
def ipu_scope(device: str) -> Iterator[None]:
    """Ops on a device such as `/device:IPU:0`; variables are resource variables."""
    with tf.compat.v1.variable_scope("", use_resource=True), tf.device(device), ipu_jit_scope(0):
        yield


@contextmanager
def outside_compilation_scope(name: str = "outside") -> Iterator[None]:
    """Ops that the host computes, inside a program of the device.

    Raises:
        ValueError: outside of a program, or inside another such scope.
    """
    graph = _graph()
    if not in_program():
        raise ValueError(
            "outside_compilation_scope is only allowed in XLA context, that is in a compiled function."
        )
    if OUTSIDE_COMPILATION_NAME in graph._attr_scope_map:
        raise ValueError("Illegal nesting of outside_compilation_scope: the ops are on the host already.")
    unique = graph.unique_name(name, mark_as_used=True)
    marked = {OUTSIDE_COMPILATION_NAME: attr_value_pb2.AttrValue(s=unique.encode())}
    with tf.name_scope(unique), graph._attr_scope(marked):
        yield


@contextmanager
def ipu_shard(index: int | Iterable[int]) -> Iterator[None]:
    """Ops on one IPU of a replica (or several); their gradients are on the same."""
    ipus = list(index) if isinstance(index, Iterable) else [index]
    need_ipus(max(ipus, default=0) + 1)
    graph = _graph()
    before = len(graph.get_operations()) if not tf.executing_eagerly() else 0
    with graph._attr_scope({sharding.ATTRIBUTE: sharding.attribute(ipus)}):
        yield
    if not tf.executing_eagerly():
        for op in graph.get_operations()[before:]:
            shard_gradient(op)


@contextmanager
def frontend_attribute(
    attribute_name: str, attribute_value: str, restore_to: str | None = None
) -> Iterator[None]:
    """An attribute of the compiler on all ops of the scope; `restore_to` is its value afterwards if it was unset."""
    graph = _graph()
    before, inside = xla_data_pb2.FrontendAttributes(), xla_data_pb2.FrontendAttributes()
    current = graph._attr_scope_map.get(FRONTEND_ATTRIBUTES_NAME)
    if current:
        before.ParseFromString(current.s)
        inside.ParseFromString(current.s)
    inside.map[attribute_name] = attribute_value
    value = attr_value_pb2.AttrValue(s=inside.SerializeToString())
    with graph._attr_scope({FRONTEND_ATTRIBUTES_NAME: value}):
        yield
    if restore_to is not None and attribute_name not in before.map:
        before.map[attribute_name] = restore_to
        graph._attr_scope_map[FRONTEND_ATTRIBUTES_NAME] = attr_value_pb2.AttrValue(
            s=before.SerializeToString()
        )


@contextmanager
def stochastic_rounding(override: bool) -> Iterator[None]:
    """Stochastic rounding on or off; recorded for the chip model, results on the host are not rounded by chance."""
    value = "THREESTATE_ON" if override else "THREESTATE_OFF"
    with frontend_attribute("STOCHASTIC_ROUNDING", value, "THREESTATE_UNDEFINED"):
        yield


@contextmanager
def partials_type(override_type: Any) -> Iterator[None]:
    """The type of partial sums of convolutions and matrix products; recorded for the chip model.

    Raises:
        ValueError: neither float16 nor float32.
    """
    names = {"float16": "F16", "float32": "F32"}
    given = str(np.dtype(override_type))
    if given not in names:
        raise ValueError(f"Only support float16, float32, provided {given}")
    with frontend_attribute("PARTIALS_TYPE", names[given], "PRIMITIVE_TYPE_INVALID"):
        yield


class _ShardedGradient:
    """The gradient function of an op, called on the IPUs of the op."""

    def __init__(self, gradient: Callable[..., Any]) -> None:
        self._gradient = gradient

    def __call__(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        with ipu_shard(sharding.get_sharding(op) or []):
            return self._gradient(op, *args, **kwargs)


def shard_gradient(op: Any) -> None:
    """Let the gradient of an op be on the IPUs of the op."""
    try:
        gradient = ops.get_gradient_function(op)
    except LookupError:
        return
    if gradient is not None and not isinstance(gradient, _ShardedGradient):
        op._gradient_function = _ShardedGradient(gradient)
