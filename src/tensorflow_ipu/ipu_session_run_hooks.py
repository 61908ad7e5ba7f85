"""`ipu_session_run_hooks`: hooks of sessions that run programs of IPUs."""

from tremula.frontends.tensorflow.estimators.session_hooks import IPULoggingTensorHook

__all__ = ["IPULoggingTensorHook"]
