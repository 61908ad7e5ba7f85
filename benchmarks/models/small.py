"""The small networks of tutorials and of a strong-scaling study."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional


class Classifier(nn.Module):
    """What the small networks share: images in, classes out, cross entropy as the loss."""

    shape: tuple[int, ...] = ()
    eight_bit_input = False

    def __init__(self) -> None:
        super().__init__()
        self.body: nn.Module = nn.Identity()

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        dtype = next(self.parameters()).dtype
        given = {"images": torch.empty(batch, *self.shape, dtype=dtype)}
        if training:
            given["labels"] = torch.empty(batch, dtype=torch.int32)
        return given

    def forward(self, images: Tensor, labels: Tensor | None = None):
        x = self.body(images)
        return x if labels is None else (x, functional.cross_entropy(x, labels))


class WorkshopCnn(Classifier):
    """Two convolutions, a group norm and two linear layers; on 128 x 128 pixels in the tutorial on data loading."""

    def __init__(self, image: int = 128) -> None:
        super().__init__()
        self.shape = (1, image, image)
        side = (image - 2) // 2 - 4
        self.body = nn.Sequential(
            nn.Conv2d(1, 5, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(5, 12, 5), nn.GroupNorm(3, 12), nn.ReLU(),
            nn.Flatten(), nn.Linear(12 * side * side, 100), nn.ReLU(), nn.Linear(100, 10),
        )  # fmt: skip


class KerasMnist(Classifier):
    """The Keras tutorial's network for handwritten digits: 34,826 parameters."""

    shape = (1, 28, 28)

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(0.5), nn.Linear(1600, 10),
        )  # fmt: skip


class KerasThreeConvolutions(Classifier):
    """The network of the TensorBoard tutorial; `body.6` begins its second stage."""

    shape = (1, 28, 28)

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(64, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(32, 10),
        )  # fmt: skip


class KerasCifar(Classifier):
    """The Keras example for CIFAR-10: four convolutions and two linear layers, 1.25 M parameters."""

    shape = (3, 32, 32)

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for width in (32, 64):
            layers += [
                nn.Conv2d(channels, width, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(width, width, 3),
                nn.ReLU(),
            ]
            layers += [nn.MaxPool2d(2), nn.Dropout(0.25)]
            channels = width
        layers += [nn.Flatten(), nn.Linear(64 * 6 * 6, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, 10)]
        self.body = nn.Sequential(*layers)


class PipelinedMnist(Classifier):
    """The tutorial on pipelines: each of `body.3`, `body.6` and `body.9` begins a block."""

    shape = (1, 28, 28)

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(),
            nn.Flatten(), nn.Linear(320, 256), nn.ReLU(), nn.Linear(256, 10),
        )  # fmt: skip


class Mlp(Classifier):
    """Linear layers with GELU between them: by default the popxl tutorial's 784-512-512-512-10."""

    def __init__(self, inputs: int = 784, hidden: int = 512, layers: int = 3, classes: int = 10) -> None:
        super().__init__()
        self.shape = (inputs,)
        widths = [inputs, *[hidden] * layers]
        parts: list[nn.Module] = []
        for before, after in itertools.pairwise(widths):
            parts += [nn.Linear(before, after), nn.GELU()]
        self.body = nn.Sequential(*parts, nn.Linear(widths[-1], classes))


class NeuronInverter(nn.Module):
    """Conductances of a neuron from its voltages over time (PMBS 2022): three 1-D convolutions, six linear layers."""

    def __init__(
        self, channels: int = 4, samples: int = 1600, outputs: int = 15, dropout: float = 0.02
    ) -> None:
        super().__init__()
        self.shape = (channels, samples)
        self.outputs = outputs
        layers: list[nn.Module] = []
        length = samples
        for width in (30, 90, 180):
            layers += [nn.Conv1d(channels, width, 4), nn.MaxPool1d(4), nn.ReLU()]
            channels, length = width, (length - 3) // 4
        layers += [nn.Flatten(), nn.BatchNorm1d(channels * length)]
        inputs = channels * length
        for width in (512, 512, 512, 256, 128):
            layers += [nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(dropout)]
            inputs = width
        self.body = nn.Sequential(*layers, nn.Linear(inputs, outputs))

    def sample(self, batch: int, training: bool) -> dict[str, Tensor]:
        """One micro-batch."""
        dtype = next(self.parameters()).dtype
        given = {"voltages": torch.empty(batch, *self.shape, dtype=dtype)}
        if training:
            given["targets"] = torch.empty(batch, self.outputs, dtype=dtype)
        return given

    def forward(self, voltages: Tensor, targets: Tensor | None = None):
        x = self.body(voltages)
        return x if targets is None else (x, functional.mse_loss(x, targets))
