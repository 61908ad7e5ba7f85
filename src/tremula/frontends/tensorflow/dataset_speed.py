"""How fast a dataset hands out its elements on this host."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula import log
from tremula.frontends.tensorflow.device_errors import BadData


def dataset_benchmark(
    dataset: Any,
    number_of_epochs: int,
    elements_per_epochs: int,
    print_stats: bool = True,
    apply_debug_options: bool = True,
    do_memcpy: bool = True,
) -> Any:
    """Measure how fast a dataset is.

    Args:
        dataset: a `tf.data.Dataset`.
        number_of_epochs: how many measurements.
        elements_per_epochs: how many elements each takes.
        print_stats: whether the log has a line for each epoch.
        apply_debug_options: whether TensorFlow's debugging options for datasets are applied.
        do_memcpy: whether each element is copied, as on its way to a device.

    Returns:
        A tensor with one JSON text: `{"epochs": [...]}`, each with elements_processed, total_bytes_processed,
        time_elapsed (seconds), elements_per_second and bandwidth (GB/s).

    Raises:
        TypeError, ValueError: it is not a dataset, or there is nothing to measure.
        InvalidArgumentError: its elements are empty, or there are too few.
    """
    if number_of_epochs < 1:
        raise ValueError(f"Expected `number_of_epochs` to be at least 1, got {number_of_epochs}.")
    if elements_per_epochs < 1:
        raise ValueError(f"Expected `elements_per_epochs` to be at least 1, got {elements_per_epochs}.")
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(
            f"Expected `dataset` argument to be of type `tf.data.Dataset`, but got {dataset} instead."
        )
    if apply_debug_options:
        dataset = dataset._apply_debug_options()
    specs = tf.nest.flatten(dataset.element_spec)
    times = _timed(dataset, number_of_epochs, elements_per_epochs, do_memcpy)
    sizes = [spec.shape.num_elements() for spec in specs]
    size = sum((count or 0) * spec.dtype.size for count, spec in zip(sizes, specs, strict=True))

    def told(moments: np.ndarray) -> np.ndarray:
        if 0 in sizes:
            raise BadData("Detected a tensor in the dataset with a dimension of size 0, which takes no time.")
        if not moments[-1]:
            raise BadData(
                f"The dataset has fewer than {number_of_epochs * elements_per_epochs} elements: repeat it."
            )
        epochs = [_figures(elements_per_epochs, size, seconds) for seconds in np.diff(moments)]
        if print_stats:
            for number, epoch in enumerate(epochs):
                log.layer("tremula").info(
                    "dataset benchmark, epoch %d: %.0f elements/s, %.3f GB/s",
                    number, epoch["elements_per_second"], epoch["bandwidth"],
                )  # fmt: skip
        return np.array([json.dumps({"epochs": epochs})], dtype=object)

    text = tf.numpy_function(told, [times], tf.string)
    text.set_shape([1])
    return text


def _timed(dataset: Any, epochs: int, elements: int, copy: bool) -> Any:
    """The moments at which each epoch begins, and the end. The loop over the elements is the dataset library's own."""

    def step(state: Any, element: Any) -> Any:
        number, moments = state
        if copy:
            waits = [
                tf.raw_ops.DeepCopy(x=each) for each in tf.nest.flatten(element) if each.dtype != tf.variant
            ]
        else:
            waits = tf.nest.flatten(element)
        with tf.control_dependencies(waits):
            number = number + 1
            moments = tf.cond(
                tf.equal(number % elements, 0),
                lambda: tf.tensor_scatter_nd_update(moments, [[number // elements]], [tf.timestamp()]),
                lambda: moments,
            )
        return number, moments

    total = epochs * elements
    first = tf.concat([[tf.timestamp()], tf.zeros([epochs], tf.float64)], 0)
    return dataset.take(total).reduce(
        (tf.constant(0, tf.int64), first), lambda state, *element: step(state, element)
    )[1]


def _figures(elements: int, size: int, seconds: float) -> dict[str, float]:
    seconds = max(float(seconds), 1e-9)
    return {
        "elements_processed": elements,
        "total_bytes_processed": elements * size,
        "time_elapsed": seconds,
        "elements_per_second": elements / seconds,
        "bandwidth": elements * size / seconds / 1e9,
    }


def infeed_benchmark(
    infeed_queue: Any,
    number_of_epochs: int,
    elements_per_epochs: int,
    print_stats: bool = True,
    do_memcpy: bool = True,
) -> Any:
    """Measure how fast the dataset of an `IPUInfeedQueue` is; see `dataset_benchmark`.

    Raises:
        TypeError: it is not an infeed.
    """
    from tremula.frontends.tensorflow.feeds.infeed import IPUInfeedQueue

    if not isinstance(infeed_queue, IPUInfeedQueue):
        raise TypeError(
            "Expected `infeed_queue` argument to be of type `ipu.ipu_infeed_queue.IPUInfeedQueue`, but got "
            f"{infeed_queue} instead."
        )
    return dataset_benchmark(
        infeed_queue._dataset, number_of_epochs, elements_per_epochs, print_stats, False, do_memcpy
    )
