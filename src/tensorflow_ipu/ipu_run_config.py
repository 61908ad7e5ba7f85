"""`ipu_run_config`: how estimators use IPUs."""

from tremula.frontends.tensorflow.estimators.run_config import IPURunConfig, RunConfig

__all__ = ["IPURunConfig", "RunConfig"]
