"""The names of `tf.contrib` that public programs for IPUs use. Other names are an error that says so.

TensorFlow 2 has no `tf.contrib`; each name here is what took its place.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import init_ops

from tremula.frontends.tensorflow import compiler

#: folder of contrib -> its names
_NAMES: dict[str, dict[str, Callable[[], Any]]] = {
    "compiler.xla": {"compile": lambda: _compile},
    "data": {"AUTOTUNE": lambda: tf.data.experimental.AUTOTUNE},
    "framework": {
        "load_checkpoint": lambda: tf.train.load_checkpoint,
        "load_variable": lambda: tf.train.load_variable,
        "list_variables": lambda: tf.train.list_variables,
        "init_from_checkpoint": lambda: tf.train.init_from_checkpoint,
        "get_or_create_global_step": lambda: tf.train.get_or_create_global_step,
        "nest": lambda: tf.nest,
    },
    "framework.python.framework.checkpoint_utils": {
        "load_checkpoint": lambda: tf.train.load_checkpoint,
        "load_variable": lambda: tf.train.load_variable,
        "list_variables": lambda: tf.train.list_variables,
    },
    "layers": {
        "xavier_initializer": lambda: xavier_initializer,
        "xavier_initializer_conv2d": lambda: xavier_initializer,
        "variance_scaling_initializer": lambda: variance_scaling_initializer,
        "l2_regularizer": lambda: l2_regularizer,
        "flatten": lambda: tf.layers.flatten,
    },
    "rnn": {
        "BasicLSTMCell": lambda: tf.nn.rnn_cell.BasicLSTMCell,
        "DropoutWrapper": lambda: tf.nn.rnn_cell.DropoutWrapper,
        "GRUCell": lambda: tf.nn.rnn_cell.GRUCell,
        "LSTMCell": lambda: tf.nn.rnn_cell.LSTMCell,
        "LSTMStateTuple": lambda: tf.nn.rnn_cell.LSTMStateTuple,
        "MultiRNNCell": lambda: tf.nn.rnn_cell.MultiRNNCell,
    },
    "util": {"make_ndarray": lambda: tf.make_ndarray, "make_tensor_proto": lambda: tf.make_tensor_proto},
}


def folders(path: str) -> set[str]:
    """The modules directly below a module of contrib, `""` for contrib itself."""
    prefix = f"{path}." if path else ""
    return {
        name[len(prefix) :].partition(".")[0] for name in _NAMES if name.startswith(prefix) and name != path
    }


def is_module(path: str) -> bool:
    """Whether there is such a module of contrib."""
    return path in _NAMES or bool(folders(path))


def fill(module: ModuleType, path: str) -> None:
    """Give a module of contrib its names."""
    known = _NAMES.get(path, {})

    def look_up(name: str) -> Any:
        if name in known:
            return known[name]()
        if name in folders(path):
            return importlib.import_module(f"{module.__name__}.{name}")
        if name.startswith("__"):
            raise AttributeError(name)
        full = ".".join(filter(None, ("tf.contrib", path, name)))
        available = ", ".join(sorted(known) + sorted(folders(path)))
        raise AttributeError(
            f"{full} is not available: TensorFlow 2 has no contrib, and Tremula provides only what public programs for "
            f"IPUs use of it. {'.'.join(filter(None, ('tf.contrib', path)))} has: {available}."
        )

    module.__getattr__ = look_up  # type: ignore[method-assign]


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: Any = tf.float32) -> Any:
    """The initializer of Glorot and Bengio."""
    kind = init_ops.GlorotUniform if uniform else init_ops.GlorotNormal
    return kind(seed=seed, dtype=dtype)


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = tf.float32,
) -> Any:
    """An initializer whose variance depends on the size of a layer; by default that of He and others."""
    distribution = "uniform" if uniform else "truncated_normal"
    return tf.variance_scaling_initializer(factor, mode.lower(), distribution, seed=seed, dtype=dtype)


def l2_regularizer(scale: float, scope: str | None = None) -> Callable[[Any], Any]:
    """A function that gives half of the sum of squares of weights, times `scale`."""
    return lambda weights: tf.multiply(scale, tf.nn.l2_loss(weights), name=scope)


def _compile(computation: Callable[..., Any], inputs: Any = None) -> Any:
    """On an IPU, the program of a computation; elsewhere its ops: the host does not compile with XLA."""
    graph = tf.get_default_graph()
    with graph.as_default(), tf.name_scope(""):
        device = tf.no_op(name="xla_device").device
    if "IPU" in device:
        return compiler.compile(computation, inputs)
    outputs = computation(*(inputs or []))
    return outputs if isinstance(outputs, (list, tuple)) else [outputs]
