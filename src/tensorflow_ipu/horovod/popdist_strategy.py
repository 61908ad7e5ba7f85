"""`tensorflow.python.ipu.horovod.popdist_strategy`: one model on the devices of several processes."""

from tremula.frontends.tensorflow.distributed.popdist_strategy import (
    IPUDistributedVariable,
    IPUMirroredVariable,
    IPUSyncOnReadVariable,
    PopDistExtendedV1,
    PopDistStrategy,
)

__all__ = [
    "IPUDistributedVariable",
    "IPUMirroredVariable",
    "IPUSyncOnReadVariable",
    "PopDistExtendedV1",
    "PopDistStrategy",
]
