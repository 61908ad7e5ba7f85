"""Recurrent layers."""

from tremula.frontends.tensorflow.addons.layers.gru import GRU, PopnnGRU
from tremula.frontends.tensorflow.addons.layers.lstm import LSTM, PopnnLSTM

__all__ = ["GRU", "LSTM", "PopnnGRU", "PopnnLSTM"]
