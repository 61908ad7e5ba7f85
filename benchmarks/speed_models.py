"""The networks of the speed benchmark, their random inputs and the optimizer that such a model is trained with.

Each takes its inputs and, in training, the labels; it gives the output, or the output and the loss. The learning
rates are tiny on purpose: thousands of steps on one batch must not train it to vanishing gradients, because
arithmetic on denormal numbers is slow and would be what is measured.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

SGD_RATE, SGD_MOMENTUM = 1e-5, 0.9
ADAM_RATE, ADAM_BETAS, ADAM_EPSILON = 1e-6, (0.9, 0.999), 1e-8


class WorkshopCnn(nn.Module):
    """Handwritten digits: the network of apps/tutorials/workshop_cnn.py."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 5, 3)
        self.pool = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(5, 12, 5)
        self.norm = nn.GroupNorm(3, 12)
        self.fc1 = nn.Linear(972, 100)
        self.fc2 = nn.Linear(100, 10)

    def forward(self, x, labels=None):
        x = self.pool(torch.relu(self.conv1(x)))
        x = torch.relu(self.norm(self.conv2(x)))
        x = torch.relu(self.fc1(torch.flatten(x, 1)))
        x = torch.log_softmax(self.fc2(x), 1)
        return x if labels is None else (x, functional.nll_loss(x, labels))


class CifarCnn(nn.Module):
    """Three stages of two convolutions with batch norm each, and a linear classifier (290k parameters)."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for width in (32, 64, 128):
            for _ in range(2):
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
                channels = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(128 * 4 * 4, 10)

    def forward(self, x, labels=None):
        x = self.head(torch.flatten(self.features(x), 1))
        return x if labels is None else (x, functional.cross_entropy(x, labels))


class ResidualBlock2d(nn.Module):
    """Two convolutions with batch norms, and the input added."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(x + self.norm2(self.conv2(y)))


class ResidualUNet(nn.Module):
    """Segmentation of three planes, given as channels, into three classes each; four levels."""

    PLANES, CLASSES = 3, 3

    def __init__(self, width: int = 16, levels: int = 4) -> None:
        super().__init__()
        widths = [width << level for level in range(levels)]
        steps = list(itertools.pairwise(widths))
        self.stem = nn.Conv2d(self.PLANES, width, 5, padding=2)
        self.down_blocks = nn.ModuleList(ResidualBlock2d(upper) for upper, _ in steps)
        self.down = nn.ModuleList(nn.Conv2d(upper, lower, 2, stride=2) for upper, lower in steps)
        self.deepest = nn.Sequential(*(ResidualBlock2d(widths[-1]) for _ in range(2)))
        self.up = nn.ModuleList(nn.ConvTranspose2d(lower, upper, 2, stride=2) for upper, lower in steps)
        self.merge = nn.ModuleList(nn.Conv2d(2 * upper, upper, 1) for upper, _ in steps)
        self.up_blocks = nn.ModuleList(ResidualBlock2d(upper) for upper, _ in steps)
        self.head = nn.Conv2d(width, self.PLANES * self.CLASSES, 1)

    def forward(self, x, labels=None):
        x = torch.relu(self.stem(x))
        kept = []
        for block, down in zip(self.down_blocks, self.down, strict=True):
            x = block(x)
            kept.append(x)
            x = torch.relu(down(x))
        x = self.deepest(x)
        for level in reversed(range(len(kept))):
            x = torch.cat((self.up[level](x), kept[level]), 1)
            x = self.up_blocks[level](self.merge[level](x))
        x = self.head(x).unflatten(1, (self.CLASSES, self.PLANES))
        return x if labels is None else (x, functional.cross_entropy(x, labels))


class VolumeCnn(nn.Module):
    """Regression of four values from a cube: five times convolution, leaky ReLU and pooling, then dense layers."""

    def __init__(self, channels: int = 4, width: int = 16, depth: int = 5) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for level in range(depth):
            layers += [nn.Conv3d(channels, width << level, 3, padding=1), nn.LeakyReLU(0.3), nn.MaxPool3d(2)]
            channels = width << level
        self.features = nn.Sequential(*layers)
        self.dense = nn.Sequential(
            nn.Linear(channels * 2**3, 128), nn.LeakyReLU(0.3), nn.Linear(128, 64), nn.LeakyReLU(0.3), nn.Linear(64, 4)
        )  # fmt: skip

    def forward(self, x, labels=None):
        x = self.dense(torch.flatten(self.features(x), 1))
        return x if labels is None else (x, functional.mse_loss(x, labels))


class BertLayer(nn.Module):
    """Self-attention and a feed-forward part, each with dropout, addition and layer norm."""

    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.projection = nn.Linear(hidden, hidden)
        self.norm1 = nn.LayerNorm(hidden)
        self.wide = nn.Linear(hidden, 4 * hidden)
        self.narrow = nn.Linear(4 * hidden, hidden)
        self.norm2 = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, bias):
        batch, length, hidden = x.shape
        size = hidden // self.heads
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, size).permute(2, 0, 3, 1, 4).unbind(0)
        scores = torch.matmul(q, k.transpose(-1, -2)) * size**-0.5 + bias
        context = torch.matmul(self.dropout(torch.softmax(scores, -1)), v)
        context = context.transpose(1, 2).reshape(batch, length, hidden)
        x = self.norm1(x + self.dropout(self.projection(context)))
        return self.norm2(x + self.dropout(self.narrow(functional.gelu(self.wide(x)))))


class Bert(nn.Module):
    """A small BERT that labels each token."""

    VOCABULARY, LABELS = 8000, 16

    def __init__(self, hidden: int = 256, heads: int = 4, layers: int = 4, dropout: float = 0.1) -> None:
        super().__init__()
        self.words = nn.Embedding(self.VOCABULARY, hidden)
        self.positions = nn.Embedding(128, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(BertLayer(hidden, heads, dropout) for _ in range(layers))
        self.head = nn.Linear(hidden, self.LABELS)

    def forward(self, tokens, mask, labels=None):
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.norm(self.words(tokens) + self.positions(positions)))
        bias = ((1.0 - mask) * -10000.0)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, bias)
        x = self.head(x)
        if labels is None:
            return x
        return x, functional.cross_entropy(x.flatten(0, 1), labels.flatten())


class GptBlock(nn.Module):
    """Causal self-attention and a feed-forward part, each on a layer norm, added to the input."""

    def __init__(self, hidden: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.projection = nn.Linear(hidden, hidden)
        self.norm2 = nn.LayerNorm(hidden)
        self.wide = nn.Linear(hidden, 4 * hidden)
        self.narrow = nn.Linear(4 * hidden, hidden)
        self.register_buffer("future", torch.triu(torch.full((length, length), -10000.0), 1))

    def forward(self, x):
        batch, length, hidden = x.shape
        size = hidden // self.heads
        q, k, v = (
            self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, size).permute(2, 0, 3, 1, 4).unbind(0)
        )
        scores = torch.matmul(q, k.transpose(-1, -2)) * size**-0.5 + self.future
        context = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).reshape(batch, length, hidden)
        x = x + self.projection(context)
        return x + self.narrow(functional.gelu(self.wide(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """A small GPT: predicts the next token; the head shares the embedding's weights."""

    VOCABULARY, LENGTH = 4000, 128

    def __init__(self, hidden: int = 512, heads: int = 8, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(self.VOCABULARY, hidden)
        self.positions = nn.Embedding(self.LENGTH, hidden)
        nn.init.normal_(self.words.weight, std=0.02)
        self.blocks = nn.ModuleList(GptBlock(hidden, heads, self.LENGTH) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)

    def forward(self, tokens, labels=None):
        x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        x = functional.linear(self.norm(x), self.words.weight)
        if labels is None:
            return x
        return x, functional.cross_entropy(x.flatten(0, 1), labels.flatten())


class Mlp(nn.Module):
    """So small that a step is all overhead."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 10))

    def forward(self, x, labels=None):
        x = self.layers(x)
        return x if labels is None else (x, functional.cross_entropy(x, labels))


def _images(*shape: int) -> Callable[[int], tuple[tuple[Tensor, ...], Tensor]]:
    return lambda count: ((torch.randn(count, *shape),), torch.randint(0, 10, (count,)))


def _planes(count: int) -> tuple[tuple[Tensor, ...], Tensor]:
    shape = (count, ResidualUNet.PLANES, 160, 256)
    return (torch.randn(shape),), torch.randint(0, ResidualUNet.CLASSES, shape)


def _cubes(count: int) -> tuple[tuple[Tensor, ...], Tensor]:
    return (torch.randn(count, 4, 64, 64, 64),), torch.rand(count, 4)


def _sentences(count: int, length: int = 128) -> tuple[tuple[Tensor, ...], Tensor]:
    tokens = torch.randint(0, Bert.VOCABULARY, (count, length))
    lengths = torch.randint(length // 2, length + 1, (count, 1))
    mask = (torch.arange(length) < lengths).float()
    return (tokens, mask), torch.randint(0, Bert.LABELS, (count, length))


def _texts(count: int) -> tuple[tuple[Tensor, ...], Tensor]:
    tokens = torch.randint(0, Gpt.VOCABULARY, (count, Gpt.LENGTH + 1))
    return (tokens[:, :-1].contiguous(),), tokens[:, 1:].contiguous()


@dataclass(frozen=True)
class Network:
    """What a row runs: how to make the module and a number of samples with labels, and how it is trained."""

    make: Callable[[], nn.Module]
    batch: int
    #: number of samples -> (inputs, labels)
    data: Callable[[int], tuple[tuple[Tensor, ...], Tensor]]
    optimizer: str
    #: number of image dimensions; 0 for a network without convolutions
    image_dimensions: int = 0
    #: results of two training runs cannot be compared
    random: bool = False


NETWORKS = {
    "workshop": Network(WorkshopCnn, 16, _images(1, 28, 28), "SGD", image_dimensions=2),
    "cifar": Network(CifarCnn, 32, _images(3, 32, 32), "SGD", image_dimensions=2),
    "unet": Network(ResidualUNet, 1, _planes, "Adam", image_dimensions=2),
    "cnn3d": Network(VolumeCnn, 1, _cubes, "Adam", image_dimensions=3),
    "bert": Network(Bert, 8, _sentences, "Adam", random=True),
    "gpt": Network(Gpt, 4, _texts, "Adam"),
    "mlp": Network(Mlp, 4, _images(16), "Adam"),
}
