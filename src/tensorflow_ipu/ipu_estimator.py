"""Estimators: not there yet; using them says so."""

from tremula.frontends.tensorflow.not_yet import IPUEstimator, IPUEstimatorSpec

__all__ = ["IPUEstimator", "IPUEstimatorSpec"]
