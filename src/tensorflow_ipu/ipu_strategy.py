"""The distribution strategy of IPUs."""

from tremula.frontends.tensorflow.strategy import IPUExtendedV1, IPUStrategy, IPUStrategyV1

__all__ = ["IPUExtendedV1", "IPUStrategy", "IPUStrategyV1"]
