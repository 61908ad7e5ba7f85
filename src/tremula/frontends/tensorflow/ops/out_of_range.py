"""Indices out of range, as the device treats them.

Stock kernels of the CPU refuse a class label that does not exist. A compiled program cannot raise errors amid a
computation: there, the loss and the gradients of such a row are NaN.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.ops import array_ops, gen_nn_ops

from tremula.frontends.tensorflow.replicas.context import in_program


def install() -> None:
    """Let losses in programs of the device take labels that are out of range."""
    stock = gen_nn_ops.sparse_softmax_cross_entropy_with_logits

    @functools.wraps(stock)
    def lenient(features: Any, labels: Any, name: str | None = None) -> Any:
        if not in_program():
            return stock(features, labels, name=name)
        features, labels = tf.convert_to_tensor(features), tf.convert_to_tensor(labels)
        classes = features.shape[-1] if features.shape[-1] is not None else tf.shape(features)[-1]
        # as a number without sign, a negative label is too large too
        unsigned = tf.uint32 if labels.dtype.size <= 4 else tf.uint64
        valid = tf.cast(labels, unsigned) < tf.cast(classes, unsigned)
        poison = array_ops.where_v2(
            valid, tf.zeros([], features.dtype), tf.constant(float("nan"), features.dtype)
        )
        known = array_ops.where_v2(valid, labels, tf.zeros([], labels.dtype))
        return stock(features + poison[:, tf.newaxis], known, name=name)

    gen_nn_ops.sparse_softmax_cross_entropy_with_logits = lenient
