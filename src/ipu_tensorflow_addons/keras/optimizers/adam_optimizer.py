"""`ipu_tensorflow_addons.keras.optimizers.adam_optimizer`."""

from tremula.frontends.tensorflow.addons.optimizers.adam import AdamIpuOptimizer

__all__ = ["AdamIpuOptimizer"]
