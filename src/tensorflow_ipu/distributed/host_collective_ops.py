"""`tensorflow.python.ipu.distributed.host_collective_ops`: collectives between processes, on the host."""

from tremula.frontends.tensorflow.distributed.host_collectives import allgather, allreduce, broadcast

__all__ = ["allgather", "allreduce", "broadcast"]
