"""Which replica this is."""

from tremula.frontends.tensorflow.replicas.collectives import replication_index

__all__ = ["replication_index"]
