"""Connectionist temporal classification: the loss and the beam search, with the device's arguments and results.

Both are computed in float32. A softmax over log probabilities gives them back: the functions for logits serve for log
probabilities too, with the gradient that the device gives, that for the logits.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.static_shape import static_size


def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    blank_index: int,
    out_dtype: Any = None,
    name: str | None = None,
) -> Any:
    """The loss of each example, from logits.

    Args:
        labels: `[batch, max_label_length]`.
        logits: `[max_time, batch, classes]`.
        label_length: the number of labels of each example.
        logit_length: the number of time steps of each example.
        blank_index: the class of the blank.
        out_dtype: float16 or float32, by default the type of the logits.
        name: of the op.

    Raises:
        ValueError: a float16 loss is asked of float32 logits.
    """
    return _loss(labels, logits, label_length, logit_length, blank_index, out_dtype, name, "logits")


def ctc_loss_with_log_probs(
    labels: Any,
    data: Any,
    label_length: Any,
    data_length: Any,
    blank_index: int,
    out_dtype: Any = None,
    name: str | None = None,
) -> Any:
    """The loss of each example, from log probabilities. See `ctc_loss_v2`."""
    return _loss(labels, data, label_length, data_length, blank_index, out_dtype, name, "data")


def _loss(
    labels: Any,
    data: Any,
    label_length: Any,
    length: Any,
    blank: int,
    out_dtype: Any,
    name: str | None,
    what: str,
) -> Any:
    data = tf.convert_to_tensor(data)
    dtype = data.dtype if out_dtype is None else tf.as_dtype(out_dtype)
    if data.dtype == tf.float32 and dtype == tf.float16:
        raise ValueError(f"out_dtype cannot be float16 when dtype of {what} is float32.")
    loss = tf.nn.ctc_loss(
        labels=tf.cast(labels, tf.int32),
        logits=tf.cast(data, tf.float32),
        label_length=tf.cast(label_length, tf.int32),
        logit_length=tf.cast(length, tf.int32),
        blank_index=_positive(blank, data),
        name=name or "ctc_loss",
    )
    return tf.cast(loss, dtype)


def ctc_beam_search_decoder(
    logits: Any,
    logits_lengths: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    blank_index: int = -1,
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """The most likely labellings, from logits.

    Args:
        logits: `[max_time, batch, classes]`.
        logits_lengths: the number of time steps of each example.
        beam_width: how many beginnings are kept at each step.
        top_paths: how many labellings are given; at most `beam_width`.
        blank_index: the class of the blank; negative numbers count from the end.
        name: of the op.

    Returns:
        The scores and the lengths, `[batch, top_paths]` each, and the labels `[batch, top_paths, max_time]`, filled up
        with blanks.

    Raises:
        ValueError: more paths are asked than the beam is wide.
    """
    if top_paths > beam_width:
        raise ValueError(f"top_paths ({top_paths}) must be less than or equal to beam_width ({beam_width}).")
    logits = tf.convert_to_tensor(logits)
    blank = _positive(blank_index, logits)
    classes = static_size(logits, -1)
    with tf.name_scope(name or "ctc_beam_search"):
        # TensorFlow's decoder has the blank as the last class.
        moved = tf.roll(tf.cast(logits, tf.float32), classes - 1 - blank, axis=-1)
        lengths = tf.cast(logits_lengths, tf.int32)
        paths, scores = tf.nn.ctc_beam_search_decoder(moved, lengths, beam_width, top_paths)
        time, batch = tf.shape(logits)[0], tf.shape(logits)[1]
        labels, sizes = [], []
        for path in paths:
            whole = tf.SparseTensor(path.indices, path.values, tf.cast([batch, time], tf.int64))
            dense = tf.sparse.to_dense(whole, default_value=classes - 1)
            labels.append(tf.math.floormod(tf.cast(dense, tf.int32) - (classes - 1 - blank), classes))
            sizes.append(tf.math.unsorted_segment_sum(tf.ones_like(path.values), path.indices[:, 0], batch))
        decoded = tf.stack(labels, axis=1)
        decoded.set_shape([static_size(logits, 1), top_paths, static_size(logits, 0)])
        return tf.cast(scores, logits.dtype), tf.cast(tf.stack(sizes, axis=1), tf.int32), decoded


def ctc_beam_search_decoder_with_log_probs(
    log_probs: Any,
    input_lengths: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    blank_index: int = -1,
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """The most likely labellings, from log probabilities. See `ctc_beam_search_decoder`."""
    return ctc_beam_search_decoder(log_probs, input_lengths, beam_width, top_paths, blank_index, name)


def _positive(blank: int, data: Any) -> int:
    classes = static_size(data, -1)
    if classes is None:
        raise ValueError("The number of classes has to be known when the graph is built.")
    if not -classes <= blank < classes:
        raise ValueError(f"blank_index is {blank}, and there are {classes} classes.")
    return int(blank % classes)
