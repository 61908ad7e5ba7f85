"""CTC layers."""

from tremula.frontends.tensorflow.addons.layers.ctc import CTCInferenceLayer, CTCLoss, CTCPredictionsLayer

__all__ = ["CTCInferenceLayer", "CTCLoss", "CTCPredictionsLayer"]
