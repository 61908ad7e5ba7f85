"""What the extensions of all kinds of Keras models have in common."""

from tremula.frontends.tensorflow.keras.extension import KerasExtensionBase
from tremula.frontends.tensorflow.keras.metric_reduction import ReplicatedMetricReductionMethod

__all__ = ["KerasExtensionBase", "ReplicatedMetricReductionMethod"]
