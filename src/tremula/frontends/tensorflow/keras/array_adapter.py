"""Keras' adapter for arrays and tensors, for data that the device takes as a whole.

It finds the same batches as Keras' own. Keras builds a pipeline of dataset operations for them, which takes longer than
many executions; here this happens only if something wants a dataset.
"""

from __future__ import annotations

import math
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.keras.array_copies import tensor_of
from tremula.frontends.tensorflow.stock_keras import internal

_data_adapter = internal("engine.data_adapter")
_training_utils = internal("engine.training_utils")


class ArrayAdapter(_data_adapter.DataAdapter):  # type: ignore[misc, name-defined]
    """Arrays and tensors as batches.

    Args:
        x: inputs.
        y: targets.
        sample_weights: weights of the samples.
        batch_size: the samples of a batch; by default those of one of `steps`, or 32.
        epochs: how often a dataset of it goes through all samples.
        steps: the steps of an epoch.
        shuffle: whether samples, or only batches ("batch"), are shuffled.
    """

    def __init__(
        self,
        x: Any,
        y: Any = None,
        sample_weights: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        steps: int | None = None,
        shuffle: Any = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(x, y, **kwargs)
        given = tf.nest.map_structure(tensor_of, (x, y, sample_weights))
        x, y, sample_weights = _data_adapter._process_tensorlike(given)
        modes = _data_adapter.broadcast_sample_weight_modes(sample_weights, None)
        weights, _, _ = _training_utils.handle_partial_sample_weights(
            y, sample_weights, modes, check_all_flat=True
        )
        self.samples = _data_adapter.pack_x_y_sample_weight(x, y, weights)
        _data_adapter._check_data_cardinality(self.samples)
        self._count = int(tf.nest.flatten(self.samples)[0].shape[0])
        self._batch_size = batch_size or (math.ceil(self._count / steps) if steps else 32)
        self.shuffle = shuffle.lower() if isinstance(shuffle, str) else shuffle
        self._epochs = epochs
        self._parts = x, y, weights
        self._stock: Any = None

    @staticmethod
    def can_handle(x: Any, y: Any = None) -> bool:
        """Whether the data is of this kind."""
        return bool(_data_adapter.TensorLikeDataAdapter.can_handle(x, y))

    @property
    def full_batches(self) -> int:
        """How many batches there are that are full."""
        return self._count // int(self._batch_size)

    def element_spec(self) -> Any:
        """The types of a batch."""
        return tf.nest.map_structure(
            lambda tensor: tf.TensorSpec([self._batch_size, *tensor.shape[1:]], tensor.dtype), self.samples
        )

    def get_dataset(self) -> Any:
        """The batches of all epochs as a dataset."""
        if self._stock is None:
            x, y, weights = self._parts
            self._stock = _data_adapter.TensorLikeDataAdapter(
                x, y, weights, batch_size=self._batch_size, epochs=self._epochs, shuffle=self.shuffle
            )
        return self._stock.get_dataset()

    def get_size(self) -> int:
        """How many batches an epoch has."""
        return math.ceil(self._count / int(self._batch_size))

    def batch_size(self) -> int:
        """How many samples a batch has."""
        return int(self._batch_size)

    def has_partial_batch(self) -> bool:
        """Whether the last batch has fewer."""
        return self.partial_batch_size() > 0

    def partial_batch_size(self) -> int:
        """How many samples the last batch has if it is not full; else 0."""
        return self._count % int(self._batch_size)

    def should_recreate_iterator(self) -> bool:
        """Whether each epoch begins with a new iterator: no, a dataset has all epochs."""
        return False
