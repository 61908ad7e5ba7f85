"""Keras layers made for IPUs."""

from tremula.frontends.tensorflow.addons.layers.ctc import CTCInferenceLayer, CTCLoss, CTCPredictionsLayer
from tremula.frontends.tensorflow.addons.layers.dense import Dense, SerialDense
from tremula.frontends.tensorflow.addons.layers.dropout import Dropout
from tremula.frontends.tensorflow.addons.layers.effective_transformer import EffectiveTransformer
from tremula.frontends.tensorflow.addons.layers.embedding import Embedding
from tremula.frontends.tensorflow.addons.layers.f8 import ConvertFromF8, ConvertToF8
from tremula.frontends.tensorflow.addons.layers.gru import GRU, PopnnGRU
from tremula.frontends.tensorflow.addons.layers.lstm import LSTM, PopnnLSTM
from tremula.frontends.tensorflow.addons.layers.markers import (
    AssumeEqualAcrossReplicas,
    RecomputationCheckpoint,
)
from tremula.frontends.tensorflow.addons.layers.normalization import (
    GroupNorm,
    GroupNormalization,
    InstanceNorm,
    InstanceNormalization,
    LayerNorm,
    LayerNormalization,
)

__all__ = [
    "GRU",
    "LSTM",
    "AssumeEqualAcrossReplicas",
    "CTCInferenceLayer",
    "CTCLoss",
    "CTCPredictionsLayer",
    "ConvertFromF8",
    "ConvertToF8",
    "Dense",
    "Dropout",
    "EffectiveTransformer",
    "Embedding",
    "GroupNorm",
    "GroupNormalization",
    "InstanceNorm",
    "InstanceNormalization",
    "LayerNorm",
    "LayerNormalization",
    "PopnnGRU",
    "PopnnLSTM",
    "RecomputationCheckpoint",
    "SerialDense",
]
