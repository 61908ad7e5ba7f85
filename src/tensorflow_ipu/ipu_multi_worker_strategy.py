"""Strategies over several processes: not there yet; using them says so."""

from tremula.frontends.tensorflow.not_yet import IPUMultiWorkerStrategy, IPUMultiWorkerStrategyV1

__all__ = ["IPUMultiWorkerStrategy", "IPUMultiWorkerStrategyV1"]
