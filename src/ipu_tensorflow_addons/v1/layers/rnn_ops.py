"""Recurrent layers of TensorFlow 1 style."""

from tremula.frontends.tensorflow.addons.v1.gru import PopnnAUGRU, PopnnDynamicGRU, PopnnGRU
from tremula.frontends.tensorflow.addons.v1.lstm import PopnnDynamicLSTM, PopnnLSTM

__all__ = ["PopnnAUGRU", "PopnnDynamicGRU", "PopnnDynamicLSTM", "PopnnGRU", "PopnnLSTM"]
