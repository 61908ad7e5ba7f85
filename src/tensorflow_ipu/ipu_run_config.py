"""Configurations of estimators: not there yet; using them says so."""

from tremula.frontends.tensorflow.not_yet import IPURunConfig, RunConfig

__all__ = ["IPURunConfig", "RunConfig"]
