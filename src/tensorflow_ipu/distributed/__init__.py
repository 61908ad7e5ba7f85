"""`tensorflow.python.ipu.distributed`: programs of several processes."""

from tremula.frontends.tensorflow.distributed.host_collectives import allgather, allreduce, broadcast

__all__ = ["allgather", "allreduce", "broadcast"]
