"""Strategies over several processes: not there yet; using them says so."""

from tremula.frontends.tensorflow.not_yet import PopDistStrategy

__all__ = ["PopDistStrategy"]
