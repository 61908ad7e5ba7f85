"""Pipelined estimators: not there yet; using them says so."""

from tremula.frontends.tensorflow.not_yet import IPUPipelineEstimator, IPUPipelineEstimatorSpec

__all__ = ["IPUPipelineEstimator", "IPUPipelineEstimatorSpec"]
