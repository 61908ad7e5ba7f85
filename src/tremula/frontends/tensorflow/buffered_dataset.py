"""A dataset that ends where a whole number of buffers does."""

from __future__ import annotations

from typing import Any

from tensorflow.python.data.ops import dataset_ops


class BufferDataset(dataset_ops.UnaryUnchangedStructureDataset):
    """The elements of a dataset, without those at its end that do not fill a buffer.

    Args:
        input_dataset: the dataset; its elements have equal shapes.
        buffer_size: how many elements a buffer has.
    """

    def __init__(self, input_dataset: Any, buffer_size: Any) -> None:
        whole = input_dataset.batch(buffer_size, drop_remainder=True).unbatch()
        self._input_dataset = input_dataset
        self._buffer_size = buffer_size
        super().__init__(input_dataset, whole._variant_tensor)
