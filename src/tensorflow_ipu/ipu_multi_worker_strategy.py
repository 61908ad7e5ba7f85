"""`tensorflow.python.ipu.ipu_multi_worker_strategy`: a strategy over TensorFlow's own servers; not there."""

from tremula.frontends.tensorflow.distributed.popdist_strategy import (
    IPUMirroredVariable,
    IPUSyncOnReadVariable,
)
from tremula.frontends.tensorflow.unsupported_names import IPUMultiWorkerStrategy, IPUMultiWorkerStrategyV1

__all__ = [
    "IPUMirroredVariable",
    "IPUMultiWorkerStrategy",
    "IPUMultiWorkerStrategyV1",
    "IPUSyncOnReadVariable",
]
