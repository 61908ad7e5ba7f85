"""Sessions of tests in graph mode."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.core.protobuf import rewriter_config_pb2


@contextlib.contextmanager
def ipu_session(disable_grappler_optimizers: list[str] | None = None) -> Iterator[Any]:
    """A session, with these optimizers of TensorFlow switched off.

    Raises:
        ValueError: there is no optimizer of such a name.
    """
    config = tf.compat.v1.ConfigProto()
    rewrites = config.graph_options.rewrite_options
    for name in disable_grappler_optimizers or ():
        if not hasattr(rewrites, name):
            raise ValueError(f"TensorFlow has no graph optimizer {name!r}.")
        setattr(rewrites, name, rewriter_config_pb2.RewriterConfig.OFF)
    with tf.compat.v1.Session(config=config) as session:
        yield session
