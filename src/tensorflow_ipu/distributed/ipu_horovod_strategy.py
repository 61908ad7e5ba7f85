"""`tensorflow.python.ipu.distributed.ipu_horovod_strategy`: a strategy that reduces on the host."""

from tremula.frontends.tensorflow.distributed.horovod_strategy import IPUHorovodExtended, IPUHorovodStrategy

__all__ = [
    "IPUHorovodExtended",
    "IPUHorovodStrategy",
]
