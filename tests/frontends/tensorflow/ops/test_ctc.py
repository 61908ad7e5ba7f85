"""The CTC loss equals a sum over all alignments, and the beam search finds the most likely labelling."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tremula.frontends.tensorflow.ops import ctc
from tremula.frontends.tensorflow.ops.native import popnn

TIME, CLASSES = 4, 3


def collapsed(path, blank):
    return tuple(label for label, _ in itertools.groupby(path) if label != blank)


def probabilities(logits, blank):
    """The probability of each labelling, by enumeration."""
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    found: dict = {}
    for path in itertools.product(range(logits.shape[-1]), repeat=len(logits)):
        labels = collapsed(path, blank)
        found[labels] = found.get(labels, 0) + np.prod([p[t, c] for t, c in enumerate(path)])
    return found


@pytest.fixture
def logits():
    return np.random.default_rng(3).normal(size=[TIME, 2, CLASSES]).astype(np.float32)


@pytest.mark.parametrize("blank", [0, 1, 2, -1])
def test_the_loss_sums_over_all_alignments(logits, blank):
    others = [c for c in range(CLASSES) if c != blank % CLASSES]
    labels = np.array([[others[0], others[1]], [others[1], others[0]]], np.int32)
    lengths, times = np.array([2, 1], np.int32), np.array([4, 3], np.int32)
    loss = ctc.ctc_loss_v2(labels, logits, lengths, times, blank)
    for example in range(2):
        by_labelling = probabilities(logits[: times[example], example], blank % CLASSES)
        expected = -np.log(by_labelling[tuple(labels[example, : lengths[example]])])
        np.testing.assert_allclose(loss[example], expected, rtol=1e-4)
    from_probabilities = ctc.ctc_loss_with_log_probs(labels, tf.nn.log_softmax(logits), lengths, times, blank)
    np.testing.assert_allclose(loss, from_probabilities, rtol=1e-5)


def test_the_gradient_for_log_probabilities_is_that_for_logits(logits):
    arguments = (np.array([[1], [2]], np.int32), np.array([4, 4], np.int32), np.array([1, 1], np.int32), 0)
    labels, times, lengths, blank = arguments
    data = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(data)
        loss = ctc.ctc_loss_v2(labels, data, lengths, times, blank)
    gradient = tape.gradient(loss, data)
    _, native = popnn.popnn_ctc_loss_with_log_probs(
        tf.nn.log_softmax(logits), labels, times, lengths, blank_index=blank, out_dtype=tf.float32
    )
    np.testing.assert_allclose(native, gradient, atol=1e-5)


@pytest.mark.parametrize("blank", [0, 1, 2])
def test_a_wide_beam_finds_the_most_likely_labellings(logits, blank):
    scores, lengths, labels = ctc.ctc_beam_search_decoder(logits, [TIME, TIME], 50, 3, blank)
    assert (scores.shape, lengths.shape, labels.shape) == ([2, 3], [2, 3], [2, 3, TIME])
    for example in range(2):
        ranked = sorted(probabilities(logits[:, example], blank).items(), key=lambda item: -item[1])
        for path, (expected, probability) in enumerate(ranked[:3]):
            size = int(lengths[example, path])
            assert tuple(labels[example, path].numpy()[:size]) == expected
            assert (labels[example, path].numpy()[size:] == blank).all()
            np.testing.assert_allclose(scores[example, path], np.log(probability), rtol=1e-4)


def test_types_of_the_loss(logits):
    arguments = (np.array([[1], [2]], np.int32), [1, 1], [4, 4], 0)
    labels, lengths, times, blank = arguments
    half = tf.constant(logits, tf.float16)
    assert ctc.ctc_loss_v2(labels, half, lengths, times, blank).dtype == tf.float16
    assert ctc.ctc_loss_v2(labels, half, lengths, times, blank, out_dtype=tf.float32).dtype == tf.float32
    with pytest.raises(ValueError, match="out_dtype cannot be float16 when dtype of logits is float32"):
        ctc.ctc_loss_v2(labels, logits, lengths, times, blank, out_dtype=tf.float16)
    with pytest.raises(ValueError, match="out_dtype cannot be float16 when dtype of data is float32"):
        ctc.ctc_loss_with_log_probs(labels, logits, lengths, times, blank, out_dtype=np.float16)


def test_more_paths_than_the_beam_is_wide_are_refused(logits):
    with pytest.raises(ValueError, match="top_paths"):
        ctc.ctc_beam_search_decoder(logits, [4, 4], beam_width=2, top_paths=3)
    with pytest.raises(ValueError, match="blank_index is 3"):
        ctc.ctc_beam_search_decoder(logits, [4, 4], blank_index=3)
