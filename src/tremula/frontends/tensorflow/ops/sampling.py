"""Losses over a few sampled classes: sampled softmax and noise-contrastive estimation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops.products import take_rows


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[Any] | None = None,
    name: str | None = "sampled_softmax_loss",
    seed: int | None = None,
) -> Any:
    """The softmax loss over the true classes and some sampled ones, for training with very many classes.

    Args:
        weights: a row for each class, `[num_classes, dim]`.
        biases: `[num_classes]`.
        labels: the true classes, `[batch, num_true]`.
        inputs: `[batch, dim]`.
        num_sampled: the number of classes that are sampled for the batch.
        num_classes: the number of classes there are.
        num_true: the number of true classes of one example.
        sampled_values: what a candidate sampler gave; by default the log-uniform one is asked.
        name: of the op.
        seed: for the sampler.

    Returns:
        The loss of each example.
    """
    logits, wanted = compute_sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True, name, seed
    )
    return tf.nn.softmax_cross_entropy_with_logits(labels=tf.stop_gradient(wanted), logits=logits)


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[Any] | None = None,
    name: str | None = "nce_loss",
) -> Any:
    """The loss of noise-contrastive estimation, one value for each example. See `sampled_softmax_loss`."""
    logits, wanted = compute_sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True, name
    )
    return tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=wanted, logits=logits), axis=1)


def compute_sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[Any] | None = None,
    subtract_log_q: bool = True,
    name: str | None = None,
    seed: int | None = None,
) -> tuple[Any, Any]:
    """Logits and target probabilities of the true classes and then of the sampled ones.

    Args:
        subtract_log_q: subtract the logarithm of how often each class is expected among the sampled ones.

    Returns:
        Two tensors `[batch, num_true + num_sampled]`. The true classes of an example share the probability 1.
    """
    if isinstance(weights, (list, tuple)):
        weights = weights[0] if len(weights) == 1 else tf.concat(weights, 0)
    with tf.name_scope(name or "compute_sampled_logits"):
        labels = tf.reshape(tf.cast(labels, tf.int64), [-1, num_true])
        if sampled_values is None:
            sampled_values = tf.random.log_uniform_candidate_sampler(
                labels, num_true, num_sampled, unique=True, range_max=num_classes, seed=seed
            )
        sampled, expected_true, expected_sampled = (tf.stop_gradient(value) for value in sampled_values)
        sampled = tf.cast(sampled, tf.int64)

        def rows(table: Any, classes: Any) -> Any:
            return tf.cast(take_rows(tf.convert_to_tensor(table), classes), inputs.dtype)

        true_logits = tf.einsum("bd,btd->bt", inputs, rows(weights, labels)) + rows(biases, labels)
        sampled_logits = tf.matmul(inputs, rows(weights, sampled), transpose_b=True) + rows(biases, sampled)
        if subtract_log_q:
            true_logits -= tf.cast(tf.math.log(expected_true), inputs.dtype)
            sampled_logits -= tf.cast(tf.math.log(expected_sampled), inputs.dtype)
        targets = [tf.ones_like(true_logits) / num_true, tf.zeros_like(sampled_logits)]
        return tf.concat([true_logits, sampled_logits], 1), tf.concat(targets, 1)
