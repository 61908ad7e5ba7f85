"""The loss scaling factor and the rule that changes it.

Gradients in half precision overflow when the loss is scaled too much, and vanish when it is scaled too little. A
histogram counts how many are beyond an edge. Once in a period the factor
decreases if too many are, and increases otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import histograms
from tremula.frontends.tensorflow.replicas import collectives


@dataclass
class Rule:
    """When and how the factor changes. Each is a variable, so that programs that are traced follow changes.

    Attributes:
        update_frequency: how many steps a period has.
        increase_factor: what the factor is multiplied or divided by.
        max_loss_scaling_factor: the factor stays below it.
        accumulate: whether gradients of all steps of a period are counted, or those of its last one.
        ratio_threshold: the part of the gradients beyond the edge that is too much.
        captured_grads_only: whether only gradients that layers captured are counted.
        lpf_alpha: how much of the former counts is kept in each step.
        histogram_bin_edge: the magnitude from which on a gradient counts as overflowed.
    """

    update_frequency: Any
    increase_factor: Any
    max_loss_scaling_factor: Any
    accumulate: Any
    ratio_threshold: Any
    captured_grads_only: Any
    lpf_alpha: Any
    histogram_bin_edge: Any

    def due(self, step: Any) -> Any:
        """Whether the factor changes in this step of a period."""
        frequency = self.update_frequency
        return tf.logical_or(
            tf.equal(frequency, 1), tf.logical_and(step > 0, tf.equal(tf.math.floormod(step, frequency), 0))
        )

    def counted(self, histogram: Any, step: Any, grads: Iterable[Any], captured: Iterable[Any]) -> Any:
        """The histogram with the gradients of a step, over all replicas."""
        edge = tf.reshape(tf.cast(self.histogram_bin_edge, tf.float32), [1])
        own = tf.where(self.captured_grads_only, 0.0, 1.0) * _counts(grads, edge)
        found = collectives.cross_replica_sum(own + _counts(captured, edge))
        histogram = tf.convert_to_tensor(histogram)
        alpha = tf.convert_to_tensor(self.lpf_alpha)
        filtered = alpha * histogram + (1.0 - alpha) * (histogram + found)
        return tf.where(tf.logical_or(self.accumulate, self.due(step)), filtered, histogram)

    def changed(self, factor: Any, histogram: Any) -> Any:
        """The factor after a period with these counts."""
        factor = tf.convert_to_tensor(factor)
        increase = tf.convert_to_tensor(self.increase_factor)
        overflowed = tf.math.divide_no_nan(histogram[1], tf.reduce_sum(histogram))
        candidate = tf.where(overflowed > self.ratio_threshold, factor / increase, factor * increase)
        possible = (
            tf.math.is_finite(candidate) & (candidate < self.max_loss_scaling_factor) & (candidate >= 1.0)
        )
        return tf.where(possible, candidate, factor)


def _counts(grads: Iterable[Any], edge: Any) -> Any:
    """How many elements of gradients in half precision are below the edge, and how many are not."""
    total = tf.zeros([2])
    for grad in grads:
        values = grad.values if isinstance(grad, tf.IndexedSlices) else grad
        if values.dtype == tf.float16:
            # NaN and infinity came from an overflow
            known = tf.where(tf.math.is_nan(values), tf.constant(float("inf"), tf.float16), values)
            total += histograms.counts(tf.reshape(known, [-1]), edge, absolute_of_input=True)
    return total


def saturated(grad: Any) -> Any:
    """The gradient as the device computes it: in half precision an overflow gives the largest number."""
    if grad.dtype != tf.float16:
        return grad
    return mapped(lambda values: tf.clip_by_value(values, tf.float16.min, tf.float16.max), grad)


def mapped(function: Any, grad: Any) -> Any:
    """A gradient with a function of its elements; those of a sparse one stay sparse."""
    if isinstance(grad, tf.IndexedSlices):
        return tf.IndexedSlices(function(grad.values), grad.indices, grad.dense_shape)
    return function(grad)


def is_power_of_two(value: Any) -> bool:
    """Whether it is 1, 2, 4, 8, ..."""
    number = float(value)
    return number >= 1 and number.is_integer() and int(number) & (int(number) - 1) == 0
