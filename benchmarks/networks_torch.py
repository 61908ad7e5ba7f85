"""The networks of networks_keras.py in torch, layer by layer the same: factories for `tremula estimate`.

Each returns a model that computes its loss, the inputs of one micro-batch, and the optimizer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cosmoflow.network import CHANNELS, TARGETS, VARIANTS, CosmoFlow
from torch import Tensor, nn
from torch.nn import functional

from .models.bert import Bert
from .models.resnet import ResNet
from .models.small import KerasMnist
from .models.unet import UNet

Made = tuple[nn.Module, tuple[Tensor, ...], torch.optim.Optimizer]


class CosmoFlowRegression(nn.Module):
    """CosmoFlow in the size of Graphcore's example, with its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.network = CosmoFlow(VARIANTS["gc64"])

    def forward(self, volumes: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        predicted = self.network(volumes)
        return predicted, functional.mse_loss(predicted, targets)


class LstmClassifier(nn.Module):
    """Words, an LSTM over them, and two classes from its last state."""

    def __init__(self, words: int = 20_000, width: int = 128, classes: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        states, _ = self.lstm(self.embedding(tokens))
        result = self.head(states[:, -1])
        return result, functional.cross_entropy(result, labels)


def mnist() -> Made:
    """The digits of the Keras labs."""
    return _sampled(KerasMnist(), 64, _sgd)


def resnet50() -> Made:
    """ResNet-50 with batch norms, its strides in the 3x3 convolutions."""
    return _sampled(ResNet(50), 4, _momentum)


def bert() -> Made:
    """BERT-base on 128 tokens that finds where an answer starts and ends."""
    return _sampled(Bert("base", 128, "squad"), 2, _adam)


def unet() -> Made:
    """The U-Net of 2015 on 572 x 572 pixels."""
    return _sampled(UNet(), 1, _adam)


def cosmoflow() -> Made:
    """CosmoFlow on cubes of 64."""
    model = CosmoFlowRegression()
    inputs = (torch.zeros(1, CHANNELS, 64, 64, 64), torch.zeros(1, TARGETS))
    return model, inputs, _momentum(model)


def lstm() -> Made:
    """An LSTM on texts of 80 words."""
    model = LstmClassifier()
    inputs = (torch.zeros(32, 80, dtype=torch.int32), torch.zeros(32, dtype=torch.int32))
    return model, inputs, _adam(model)


NETWORKS: dict[str, Callable[[], Made]] = {
    each.__name__: each for each in (mnist, resnet50, bert, unet, cosmoflow, lstm)
}


def _sampled(model: Any, batch: int, optimizer: Callable[[nn.Module], torch.optim.Optimizer]) -> Made:
    return model, tuple(model.sample(batch, True).values()), optimizer(model)


def _sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.01)


def _momentum(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def _adam(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr=0.001)
