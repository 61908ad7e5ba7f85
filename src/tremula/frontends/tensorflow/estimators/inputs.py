"""The datasets of an estimator's input functions, and what the models get of their elements."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.data.ops import dataset_ops

from tremula.frontends.tensorflow.estimators.stock import util

END_OF_DATA = (
    "The dataset of the input_fn has no elements left, and the device was to take more. Each step takes one element "
    "for each replica. Repeat the dataset (dataset.repeat()), or run fewer steps; for predictions, set num_predictions."
)


def checked_dataset(result: Any) -> Any:
    """What an input function returned, if a device can take its elements.

    Raises:
        ValueError: it is not a dataset, or its elements are tuples of other than features and labels.
    """
    if not isinstance(result, dataset_ops.DatasetV2):
        raise ValueError(
            f"input_fn must return Dataset: a tf.data.Dataset whose elements go to the device, not "
            f"{type(result).__name__}."
        )
    features_and_labels(tf.data.experimental.get_structure(result))
    return _failing_at_end(result)


def features_and_labels(element: Any) -> tuple[Any, Any]:
    """The two parts of an element; labels are None if it has none.

    Raises:
        ValueError: it is a tuple of other than two.
    """
    features, labels = util.parse_iterator_result(element)
    return features, labels


def batch_size(dataset: Any) -> int:
    """How many samples one element of a dataset has, as far as its shapes say."""
    features, _ = features_and_labels(tf.data.experimental.get_structure(dataset))
    shapes = [spec.shape for spec in tf.nest.flatten(features) if isinstance(spec, tf.TensorSpec)]
    return int(shapes[0][0] or 1) if shapes and shapes[0].rank else 1


def _failing_at_end(dataset: Any) -> Any:
    """The same dataset, followed by an error.

    Stock sessions take the plain end of a dataset for the end of training, and a loop that had begun would be lost
    without a word. For the device it is an error.
    """
    specs = tf.nest.flatten(tf.data.experimental.get_structure(dataset))
    if not all(isinstance(spec, tf.TensorSpec) and spec.shape.is_fully_defined() for spec in specs):
        return dataset  # the infeed queue says what is wrong with it
    structure = tf.data.experimental.get_structure(dataset)

    def fail(_: Any) -> Any:
        with tf.control_dependencies([tf.debugging.Assert(False, [END_OF_DATA])]):
            return tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), structure)

    return dataset.concatenate(type_of(dataset).from_tensors(0).map(fail))


def type_of(dataset: Any) -> Any:
    """The class of datasets of this generation: of TensorFlow 1 or 2."""
    v1 = isinstance(dataset, dataset_ops.DatasetV1)
    return dataset_ops.DatasetV1 if v1 else dataset_ops.DatasetV2
