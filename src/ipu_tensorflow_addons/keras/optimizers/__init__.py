"""Optimizers made for IPUs."""

from tremula.frontends.tensorflow.addons.optimizers.adam import AdamIpuOptimizer
from tremula.frontends.tensorflow.addons.optimizers.base import IpuOptimizerBase
from tremula.frontends.tensorflow.addons.optimizers.lamb import LAMBIpuOptimizer
from tremula.frontends.tensorflow.addons.optimizers.sgd import SGDIpuOptimizer

__all__ = ["AdamIpuOptimizer", "IpuOptimizerBase", "LAMBIpuOptimizer", "SGDIpuOptimizer"]
