"""`ipu_tensorflow_addons.keras.optimizers.ipu_optimizer_base`."""

from tremula.frontends.tensorflow.addons.optimizers.base import IpuOptimizerBase

__all__ = ["IpuOptimizerBase"]
