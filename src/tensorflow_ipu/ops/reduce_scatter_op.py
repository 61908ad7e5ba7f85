"""Reductions whose result is spread over replicas."""

from tremula.frontends.tensorflow.replicas.collectives import reduce_scatter

__all__ = ["reduce_scatter"]
