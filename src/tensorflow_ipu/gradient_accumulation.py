"""How gradients are accumulated."""

from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod

__all__ = ["GradientAccumulationReductionMethod"]
