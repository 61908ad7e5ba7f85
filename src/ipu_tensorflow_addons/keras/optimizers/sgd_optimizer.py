"""`ipu_tensorflow_addons.keras.optimizers.sgd_optimizer`."""

from tremula.frontends.tensorflow.addons.optimizers.sgd import SGDIpuOptimizer

__all__ = ["SGDIpuOptimizer"]
