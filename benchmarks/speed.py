"""Speed of wrapped models beside the plain PyTorch loop that they replace, in one run on this host.

    python benchmarks/speed.py [--seconds 2] [--threads 1]

Prints, for each model, eager time / wrapped time per step (above 1: the wrapped model is faster), the median
of interleaved rounds, and how long the first call took. Times depend on the machine; the ratios are the point.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

import poptorch


class WorkshopCnn(nn.Module):
    """The PyTorch workshop's network."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 5, 3)
        self.conv2 = nn.Conv2d(5, 12, 5)
        self.norm = nn.GroupNorm(3, 12)
        self.fc1 = nn.Linear(972, 100)
        self.fc2 = nn.Linear(100, 10)

    def forward(self, x, y=None):
        x = functional.relu(functional.max_pool2d(self.conv1(x), 2))
        x = self.norm(functional.relu(self.conv2(x)))
        x = functional.log_softmax(self.fc2(functional.relu(self.fc1(torch.flatten(x, 1)))), 1)
        return x if y is None else (x, functional.nll_loss(x, y))


class TinyMlp(nn.Module):
    """All overhead."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 10))

    def forward(self, x, y=None):
        x = self.layers(x)
        return x if y is None else (x, functional.cross_entropy(x, y))


class ResidualCnn(nn.Module):
    """Convolutions, batch norms and additions on small images."""

    def __init__(self, width: int = 32, blocks: int = 3) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
            for _ in range(blocks)
        )
        self.head = nn.Linear(width, 10)

    def forward(self, x, y=None):
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        x = self.head(x.mean((2, 3)))
        return x if y is None else (x, functional.cross_entropy(x, y))


class Encoder(nn.Module):
    """Two transformer layers."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(128, 10)

    def forward(self, x, y=None):
        x = self.head(self.encoder(x).mean(1))
        return x if y is None else (x, functional.cross_entropy(x, y))


CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "workshop CNN, b8": (WorkshopCnn, (8, 1, 28, 28)),
    "tiny MLP, b4": (TinyMlp, (4, 16)),
    "residual CNN, b8 32x32": (ResidualCnn, (8, 3, 32, 32)),
    "transformer, b4 s64": (Encoder, (4, 64, 128)),
}


def eager_training(model: nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int) -> Callable[[], None]:
    """The usual loop."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    micro_batches = list(zip(x.chunk(steps), y.chunk(steps), strict=True))

    def run() -> None:
        for data, labels in micro_batches:
            optimizer.zero_grad()
            _, loss = model(data, labels)
            loss.backward()
            optimizer.step()

    return run


def wrapped_training(model: nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int) -> Callable[[], None]:
    """The same through poptorch, `steps` device iterations per call."""
    options = poptorch.Options().deviceIterations(steps).showCompilationProgressBar(False)
    executor = poptorch.trainingModel(model, options, poptorch.optim.Adam(model.parameters(), lr=1e-3))
    return lambda: executor(x, y)


def eager_inference(model: nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int) -> Callable[[], None]:
    """Forward passes without gradients."""
    model.eval()
    micro_batches = x.chunk(steps)

    def run() -> None:
        with torch.no_grad():
            torch.cat([model(data) for data in micro_batches])

    return run


def wrapped_inference(model: nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int) -> Callable[[], None]:
    """The same through poptorch."""
    model.eval()
    options = poptorch.Options().deviceIterations(steps).showCompilationProgressBar(False)
    executor = poptorch.inferenceModel(model, options)
    return lambda: executor(x)


def timed(function: Callable[[], None]) -> float:
    """Seconds of one call."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def compare(
    eager: Callable[[], None], wrapped: Callable[[], None], seconds: float
) -> tuple[float, float, float]:
    """First wrapped call, and median times of interleaved calls."""
    first = timed(wrapped)
    eager()
    eager_times, wrapped_times = [], []
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop or len(eager_times) < 5:
        eager_times.append(timed(eager))
        wrapped_times.append(timed(wrapped))
    return first, statistics.median(eager_times), statistics.median(wrapped_times)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="per case")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=8, help="device iterations per call")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    print(
        f"torch {torch.__version__}, {options.threads} thread(s), {options.steps} device iterations per call"
    )
    print(f"{'case':40} {'eager ms':>9} {'wrapped ms':>11} {'ratio':>7} {'first call s':>13}")
    for name, (make, shape) in CASES.items():
        for kind, eager, wrapped in (
            ("training", eager_training, wrapped_training),
            ("inference", eager_inference, wrapped_inference),
        ):
            torch.manual_seed(0)
            model = make()
            x = torch.randn(shape[0] * options.steps, *shape[1:])
            y = torch.randint(0, 10, (shape[0] * options.steps,))
            other = copy.deepcopy(model)
            first, plain, ours = compare(
                eager(model, x, y, options.steps), wrapped(other, x, y, options.steps), options.seconds
            )
            per = 1000 / options.steps
            print(
                f"{name + ', ' + kind:40} {plain * per:9.3f} {ours * per:11.3f} {plain / ours:7.2f} {first:13.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
