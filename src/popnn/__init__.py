"""Functions for neural networks, with the names and argument orders of C++. `docs/poplar-libs-nn.md` lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poplar import Graph
from poplin import createNormBeta, createNormGamma, createNormParams

from . import bn, ctc, gn, gru, in_, ln, lstm, pooling, rnn
from ._loss import (
    LossType,
    argMax,
    argMin,
    calcAccuracy,
    calcLoss,
    maxAndArgMax,
    minAndArgMin,
    topK,
)
from ._nonlinearity import (
    NonLinearityType,
    gelu,
    geluErf,
    geluErfInPlace,
    geluInPlace,
    logSoftmax,
    logSoftmaxInPlace,
    nonLinearity,
    nonLinearityInPlace,
    nonLinearityInputGradient,
    nonLinearityScaling,
    relu,
    reluInPlace,
    scaledSoftmaxStable,
    scaledSoftmaxStableInPlace,
    sigmoid,
    sigmoidInPlace,
    softmax,
    softmaxInPlace,
    softmaxStable,
    softmaxStableInPlace,
    swish,
    swishInPlace,
    tanh,
    tanhInPlace,
)
from .pooling import PoolingType

SUM_SQUARED_LOSS, CROSS_ENTROPY_LOSS = LossType.SUM_SQUARED_LOSS, LossType.CROSS_ENTROPY_LOSS


def addCodelets(graph: Graph) -> None:
    """The functions of this library need no codelets to be added."""


if not TYPE_CHECKING:  # a misspelt name is a mistake that type checkers find

    def __getattr__(name: str) -> Any:
        if name == "in":
            return in_
        raise AttributeError(f"popnn has no {name!r}: docs/poplar-libs-nn.md lists what is available")


__all__ = [
    "CROSS_ENTROPY_LOSS",
    "SUM_SQUARED_LOSS",
    "LossType",
    "NonLinearityType",
    "PoolingType",
    "addCodelets",
    "argMax",
    "argMin",
    "bn",
    "calcAccuracy",
    "calcLoss",
    "createNormBeta",
    "createNormGamma",
    "createNormParams",
    "ctc",
    "gelu",
    "geluErf",
    "geluErfInPlace",
    "geluInPlace",
    "gn",
    "gru",
    "in_",
    "ln",
    "logSoftmax",
    "logSoftmaxInPlace",
    "lstm",
    "maxAndArgMax",
    "minAndArgMin",
    "nonLinearity",
    "nonLinearityInPlace",
    "nonLinearityInputGradient",
    "nonLinearityScaling",
    "pooling",
    "relu",
    "reluInPlace",
    "rnn",
    "scaledSoftmaxStable",
    "scaledSoftmaxStableInPlace",
    "sigmoid",
    "sigmoidInPlace",
    "softmax",
    "softmaxInPlace",
    "softmaxStable",
    "softmaxStableInPlace",
    "swish",
    "swishInPlace",
    "tanh",
    "tanhInPlace",
    "topK",
]
