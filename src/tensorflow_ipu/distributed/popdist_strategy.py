"""`tensorflow.python.ipu.distributed.popdist_strategy`: one model on the devices of several processes."""

from tremula.frontends.tensorflow.distributed.popdist_strategy import (
    IPU_VARIABLE_CLASS_MAPPING,
    IPU_VARIABLE_POLICY_MAPPING,
    IPUDistributedVariable,
    IPUMirroredVariable,
    IPUOnReadPolicy,
    IPUOnWritePolicy,
    IPUSyncOnReadVariable,
    PopDistExtendedV1,
    PopDistStrategy,
)

__all__ = [
    "IPU_VARIABLE_CLASS_MAPPING",
    "IPU_VARIABLE_POLICY_MAPPING",
    "IPUDistributedVariable",
    "IPUMirroredVariable",
    "IPUOnReadPolicy",
    "IPUOnWritePolicy",
    "IPUSyncOnReadVariable",
    "PopDistExtendedV1",
    "PopDistStrategy",
]
