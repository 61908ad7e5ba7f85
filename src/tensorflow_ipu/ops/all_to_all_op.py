"""Exchanges between replicas."""

from tremula.frontends.tensorflow.replicas.collectives import all_gather, all_to_all

__all__ = ["all_gather", "all_to_all"]
