"""`ipu_pipeline_estimator`: estimators whose models are pipelines over IPUs."""

from tremula.frontends.tensorflow.estimators.pipeline_estimator import IPUPipelineEstimator
from tremula.frontends.tensorflow.estimators.pipeline_spec import IPUPipelineEstimatorSpec

__all__ = ["IPUPipelineEstimator", "IPUPipelineEstimatorSpec"]
