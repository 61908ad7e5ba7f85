"""Layers that compute nothing: they tell the device something about the tensors that go through them."""

from __future__ import annotations

from typing import Any

from tensorflow.python.ipu.ops import cross_replica_ops, pipelining_ops

from tremula.frontends.tensorflow.stock_keras import keras


class AssumeEqualAcrossReplicas(keras.layers.Layer):
    """Says that a tensor has the same values in all replicas, so that control flow may depend on it.

    Args:
        inplace: recorded for the chip model: the tensor is not copied.
        kwargs: arguments of the Keras layer.
    """

    def __init__(self, inplace: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.inplace = inplace

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        """The tensors as they are."""
        return cross_replica_ops.assume_equal_across_replicas(inputs, self.inplace)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return {**super().get_config(), "inplace": self.inplace}


class RecomputationCheckpoint(keras.layers.Layer):
    """Says which tensors of a pipeline stage are kept when the others are computed again in the backward pass."""

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        """The tensors as they are."""
        return pipelining_ops.recomputation_checkpoint(inputs, name=self.name)
