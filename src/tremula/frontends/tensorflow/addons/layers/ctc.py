"""Connectionist temporal classification: loss, and predictions by a beam search."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops.ctc import (
    ctc_beam_search_decoder,
    ctc_beam_search_decoder_with_log_probs,
    ctc_loss_v2,
    ctc_loss_with_log_probs,
)
from tremula.frontends.tensorflow.stock_keras import keras


class CTCInferenceLayer(keras.layers.Layer):
    """The most probable sequences of labels.

    Args:
        blank_index: the class that is the blank.
        beam_width: how many paths the search keeps.
        top_paths: how many paths it returns.
        from_logits: the data are logits, not log probabilities.
        kwargs: arguments of the Keras layer.
    """

    def __init__(
        self,
        blank_index: int = 0,
        beam_width: int = 100,
        top_paths: int = 1,
        from_logits: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.blank_index = blank_index
        self.beam_width = beam_width
        self.top_paths = top_paths
        self.from_logits = from_logits

    def call(self, data: Any, data_length: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Search.

        Args:
            data: `[time, batch, classes]`.
            data_length: how many steps of each entry of the batch count, `[batch]`.
            kwargs: not used.

        Returns:
            The log probabilities of the paths `[batch, paths]`, their lengths `[batch, paths]`, and their
            labels `[batch, paths, time]`.
        """
        decode = ctc_beam_search_decoder if self.from_logits else ctc_beam_search_decoder_with_log_probs
        return decode(
            data,
            data_length,
            beam_width=self.beam_width,
            top_paths=self.top_paths,
            blank_index=self.blank_index,
        )

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return {
            **super().get_config(),
            "blank_index": self.blank_index,
            "beam_width": self.beam_width,
            "top_paths": self.top_paths,
            "from_logits": self.from_logits,
        }


class CTCPredictionsLayer(CTCInferenceLayer):
    """The most probable sequence of labels, filled up with the blank. Arguments are those of `CTCInferenceLayer`."""

    def call(self, data: Any, data_length: Any, **kwargs: Any) -> Any:
        """Search.

        Args:
            data: `[time, batch, classes]`.
            data_length: how many steps of each entry of the batch count, `[batch]`.
            kwargs: not used.

        Returns:
            Labels, `[batch, time]`.
        """
        scores, lengths, labels = super().call(data, data_length, **kwargs)
        best, length = self._select_most_likely_path(scores, labels, self.top_paths, lengths)
        return self._mask_out_junk_values(self.blank_index, best, length)

    @staticmethod
    def _select_most_likely_path(probs: Any, predicted: Any, top_paths: int, lengths: Any) -> Any:
        """The path with the highest log probability, and its length unless `lengths` is None."""
        if top_paths == 1:
            best = tf.zeros([tf.shape(predicted)[0]], tf.int32)
        else:
            best = tf.argmax(probs, axis=1, output_type=tf.int32)
        labels = tf.gather(predicted, best, axis=1, batch_dims=1)
        if lengths is None:
            return labels
        return labels, tf.gather(tf.reshape(lengths, tf.shape(predicted)[:2]), best, axis=1, batch_dims=1)

    @staticmethod
    def _mask_out_junk_values(blank_index: int, best_predictions: Any, lengths: Any) -> Any:
        """Labels after the length become the blank."""
        within = tf.sequence_mask(lengths, tf.shape(best_predictions)[1])
        return tf.where(within, best_predictions, tf.cast(blank_index, best_predictions.dtype))


class CTCLoss(keras.layers.Layer):
    """The loss of sequences of labels, as a layer: the model's loss function returns its output.

    Args:
        blank_index: the class that is the blank.
        from_logits: the data are logits, not log probabilities.
        kwargs: arguments of the Keras layer.
    """

    def __init__(self, blank_index: int = 0, from_logits: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.blank_index = blank_index
        self.from_logits = from_logits

    def call(self, labels: Any, data: Any, label_length: Any, data_length: Any, **kwargs: Any) -> Any:
        """The mean loss of the batch, `[1]`.

        Args:
            labels: `[batch, labels]`.
            data: `[time, batch, classes]`.
            label_length: how many labels of each entry of the batch count, `[batch]`.
            data_length: how many steps of each entry of the batch count, `[batch]`.
            kwargs: not used.
        """
        function = ctc_loss_v2 if self.from_logits else ctc_loss_with_log_probs
        losses = function(labels, data, label_length, data_length, self.blank_index)
        return tf.reshape(tf.reduce_mean(losses), [1])

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return {**super().get_config(), "blank_index": self.blank_index, "from_logits": self.from_logits}
