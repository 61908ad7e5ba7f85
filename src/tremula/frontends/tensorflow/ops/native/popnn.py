"""`gen_popnn_ops`: neural-network ops of the device, without the recurrent layers."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import activations, ctc
from tremula.frontends.tensorflow.ops.group_norm import Grouping


def ipu_gelu(features: Any, name: str | None = None) -> Any:
    """Gaussian error linear unit, by tanh."""
    return activations.gelu(features, name=name)


def ipu_swish(features: Any, name: str | None = None) -> Any:
    """x times its sigmoid."""
    return activations.swish(features, name=name)


def ipu_hard_sigmoid(features: Any, name: str | None = None) -> Any:
    """The sigmoid in three straight lines."""
    return activations.hard_sigmoid(features, name=name)


def ipu_softmax(features: Any, name: str | None = None) -> Any:
    """Softmax over the last axis."""
    return activations.softmax(features, name=name)


def ipu_stable_softmax(features: Any, name: str | None = None) -> Any:
    """Softmax over the last axis, with the maximum subtracted first."""
    return activations.softmax(features, stable=True, name=name)


def _gradient(function: Any, gradients: Any, features: Any) -> Any:
    features = tf.convert_to_tensor(features)
    with tf.GradientTape() as tape:
        tape.watch(features)
        result = function(features)
    return tape.gradient(result, features, output_gradients=gradients)


def ipu_gelu_grad(gradients: Any, features: Any, name: str | None = None) -> Any:
    """The gradient of `ipu_gelu`."""
    return _gradient(activations.gelu, gradients, features)


def ipu_swish_grad(gradients: Any, features: Any, name: str | None = None) -> Any:
    """The gradient of `ipu_swish`."""
    return _gradient(activations.swish, gradients, features)


def ipu_hard_sigmoid_grad(gradients: Any, features: Any, name: str | None = None) -> Any:
    """The gradient of `ipu_hard_sigmoid`."""
    return _gradient(activations.hard_sigmoid, gradients, features)


def popnn_group_norm_training(
    inputs: Any,
    gamma: Any,
    beta: Any,
    data_format: str,
    epsilon: float,
    num_groups: int,
    strided_channel_grouping: bool = True,
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """Normalise with the input's statistics: the output, the mean and the inverse standard deviation."""
    inputs = tf.convert_to_tensor(inputs)
    with tf.name_scope(name or "group_norm_training"):
        return Grouping(num_groups, data_format, strided_channel_grouping, epsilon).normalise(
            inputs, gamma, beta
        )


def popnn_group_norm_statistics(
    inputs: Any,
    data_format: str,
    epsilon: float,
    num_groups: int,
    strided_channel_grouping: bool = True,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The mean and the inverse standard deviation of each group of each example."""
    inputs = tf.convert_to_tensor(inputs)
    with tf.name_scope(name or "group_norm_statistics"):
        return Grouping(num_groups, data_format, strided_channel_grouping, epsilon).statistics(inputs)


def popnn_group_norm_inference(
    inputs: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    inv_std_dev: Any,
    data_format: str,
    epsilon: float,
    num_groups: int,
    strided_channel_grouping: bool = True,
    name: str | None = None,
) -> Any:
    """Normalise with given statistics."""
    inputs = tf.convert_to_tensor(inputs)
    with tf.name_scope(name or "group_norm_inference"):
        grouping = Grouping(num_groups, data_format, strided_channel_grouping, epsilon)
        return grouping.apply(inputs, gamma, beta, mean, inv_std_dev)


def popnn_group_norm_grad(
    inputs: Any,
    gamma: Any,
    mean: Any,
    inv_std_dev: Any,
    output_backprop: Any,
    data_format: str,
    epsilon: float,
    num_groups: int,
    strided_channel_grouping: bool = True,
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """The gradients of `popnn_group_norm_training` for the input, gamma and beta."""
    inputs = tf.convert_to_tensor(inputs)
    with tf.name_scope(name or "group_norm_grad"):
        grouping = Grouping(num_groups, data_format, strided_channel_grouping, epsilon)
        return grouping.gradients(inputs, gamma, mean, inv_std_dev, output_backprop)


def popnn_ctc_loss_with_logits(
    data: Any,
    labels: Any,
    data_lengths: Any,
    label_lengths: Any,
    blank_index: int,
    out_dtype: Any,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The loss of each example, and its gradient for the logits."""
    data = tf.convert_to_tensor(data)

    def loss_of(logits: Any) -> Any:
        return ctc.ctc_loss_v2(labels, logits, label_lengths, data_lengths, blank_index, out_dtype, name)

    with tf.GradientTape() as tape:
        tape.watch(data)
        loss = loss_of(data)
    return loss, tf.cast(tape.gradient(loss, data), loss.dtype)


def popnn_ctc_loss_with_log_probs(
    data: Any,
    labels: Any,
    data_lengths: Any,
    label_lengths: Any,
    blank_index: int,
    out_dtype: Any,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The loss of each example from log probabilities, and its gradient."""
    return popnn_ctc_loss_with_logits(data, labels, data_lengths, label_lengths, blank_index, out_dtype, name)


def popnn_ctc_beam_search_with_logits(
    data: Any, data_lengths: Any, blank_index: int, beam_width: int, top_paths: int, name: str | None = None
) -> tuple[Any, Any, Any]:
    """Scores, lengths and labels of the most likely labellings, from logits."""
    return ctc.ctc_beam_search_decoder(data, data_lengths, beam_width, top_paths, blank_index, name)


def popnn_ctc_beam_search_with_log_probs(
    data: Any, data_lengths: Any, blank_index: int, beam_width: int, top_paths: int, name: str | None = None
) -> tuple[Any, Any, Any]:
    """Scores, lengths and labels of the most likely labellings, from log probabilities."""
    return ctc.ctc_beam_search_decoder(data, data_lengths, beam_width, top_paths, blank_index, name)
