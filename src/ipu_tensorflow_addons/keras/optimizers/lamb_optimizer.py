"""`ipu_tensorflow_addons.keras.optimizers.lamb_optimizer`."""

from tremula.frontends.tensorflow.addons.optimizers.lamb import LAMBIpuOptimizer

__all__ = ["LAMBIpuOptimizer"]
