"""Programs of several processes: not there yet; using them says so."""

from tremula.frontends.tensorflow.not_yet import allgather, allreduce, broadcast

__all__ = ["allgather", "allreduce", "broadcast"]
