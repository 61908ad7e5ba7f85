"""`ipu_estimator`: estimators whose models run on IPUs."""

from tremula.frontends.tensorflow.estimators.estimator import IPUEstimator
from tremula.frontends.tensorflow.estimators.specs import IPUEstimatorSpec

__all__ = ["IPUEstimator", "IPUEstimatorSpec"]
