"""The base of wrapping optimizers."""

from tremula.frontends.tensorflow.optimizers.wrapper import IpuOptimizer

__all__ = ["IpuOptimizer"]
