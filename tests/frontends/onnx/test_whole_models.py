"""Whole models as torch's exporter writes them, against onnxruntime where it is installed, else against torch."""

from __future__ import annotations

import importlib.util
import io
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tremula.frontends.onnx.model import OnnxModel
from tremula.frontends.onnx.module import OnnxModule


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 6, bidirectional=True)
        self.gru = nn.GRU(12, 4)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.gru(self.lstm(self.table(words))[0])[0]
        return result


MODELS: dict[str, tuple[Any, Any]] = {
    "convolutional": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU(), nn.MaxPool2d(2), nn.Upsample(scale_factor=2),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10), nn.Softmax(1),
        ),
        lambda: torch.randn(2, 3, 16, 16),
    ),
    "recurrent": (Recurrent, lambda: torch.randint(0, 20, (5, 2))),
}  # fmt: skip


def exported(network: nn.Module, example: torch.Tensor, opset: int) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (example,), file, dynamo=False, opset_version=opset)
    return file.getvalue()


@pytest.mark.parametrize("opset", [9, 11, 17])
@pytest.mark.parametrize("name", MODELS)
def test_an_exported_model_computes_what_it_did(name: str, opset: int) -> None:
    torch.manual_seed(0)
    make, draw = MODELS[name]
    network, example = make().eval(), draw()
    contents = exported(network, example, opset)
    with torch.no_grad():
        (found,) = OnnxModule(OnnxModel.load(contents))(example)
        wanted = network(example).numpy()
    if importlib.util.find_spec("onnxruntime"):
        import onnxruntime

        session = onnxruntime.InferenceSession(contents, providers=["CPUExecutionProvider"])
        (wanted,) = session.run(None, {session.get_inputs()[0].name: example.numpy()})
    assert np.allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)
