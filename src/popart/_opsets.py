"""Versions of operator sets."""

from __future__ import annotations

#: of ONNX, where a program does not say
defaultAiOnnxOpset = 10
defaultAiOnnxMlOpset = 1
defaultAiGraphcoreOpset = 1

__all__ = ["defaultAiGraphcoreOpset", "defaultAiOnnxMlOpset", "defaultAiOnnxOpset"]
