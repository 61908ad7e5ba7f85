"""Ops of the embedded application runtime."""

from tremula.frontends.tensorflow.executables.runtime import application_call, application_runtime

__all__ = ["application_call", "application_runtime"]
