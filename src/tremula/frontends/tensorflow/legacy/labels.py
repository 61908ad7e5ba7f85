"""Batches as Keras 2.6 gave them to models: tensors of one dimension get a second one, of size 1.

Later releases leave labels as they are. Loss functions that compare shapes (`mse` of labels `[batch]` and predictions
`[batch, 1]`) then compute other numbers, so models under an IPUStrategy get batches in the old form.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf


def expand_1d(data: Any) -> Any:
    """A structure of tensors in which those of rank 1 have a last dimension of size 1."""

    def expand(tensor: Any) -> Any:
        if isinstance(tensor, (tf.Tensor, tf.TensorSpec)) and tensor.shape.rank == 1:
            if isinstance(tensor, tf.Tensor):
                return tf.expand_dims(tensor, axis=-1)
            return tf.TensorSpec([*tensor.shape, 1], tensor.dtype, tensor.name)
        return tensor

    return tf.nest.map_structure(expand, data)
