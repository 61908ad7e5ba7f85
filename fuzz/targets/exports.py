"""Files of compiled models, read by `poptorch.load` and run once."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch

import poptorch
from fuzz.mutations import change_data, change_json, change_zip, dumped
from fuzz.target import Target

_INPUT = torch.linspace(-1, 1, 64).reshape(4, 16)
#: ops that a hostile program would like to call
_OPS = (
    "aten::_unsafe_index.Tensor", "aten::as_strided.default", "aten::set_.source_Tensor", "aten::resize_.default",
    "aten::index.Tensor", "aten::gather.default", "aten::from_file.default", "aten::_embedding_bag.default", "getitem",
    "aten::view.default", "aten::expand.default", "aten::empty.memory_format", "aten::add_.Tensor", "aten::mm.out",
)  # fmt: skip


class Network(torch.nn.Module):
    """Some of everything: convolution, normalisation, pooling, embedding, drop-out, a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.names = torch.nn.Embedding(16, 16)
        self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.layer = torch.nn.LayerNorm(16)
        self.dense = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor, target: torch.Tensor | None = None) -> Any:
        """Classes, and the loss if there are targets."""
        chosen = self.names((x[:, :4].abs() * 15).int())
        image = self.norm(self.conv(chosen.unsqueeze(1)))
        pooled = torch.nn.functional.max_pool2d(image, (2, 2)).flatten(1).view(-1, 16, 4).mean(-1)
        out = self.dense(torch.nn.functional.dropout(self.layer(pooled + x).relu(), 0.1, self.training))
        if target is None:
            return out
        return out, torch.nn.functional.cross_entropy(out, target)


def make(folder: Path) -> list[Path]:
    """One for inference, one for training."""
    options = poptorch.Options().showCompilationProgressBar(False)
    inference = poptorch.inferenceModel(Network().eval(), options.clone())
    inference.compile(_INPUT)
    inference.save(str(folder / "inference"))
    network = Network()
    optimizer = poptorch.optim.AdamW(network.parameters(), lr=0.01)
    training = poptorch.trainingModel(network, options.clone(), optimizer)
    training.compile(_INPUT, torch.zeros(4, dtype=torch.long))
    training.save(str(folder / "training"))
    return [folder / "inference", folder / "training"]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Documents changed as data, programs also op by op."""
    return change_zip(data, rng, {"program.json": _change_program, ".json": change_json})


def _change_program(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return change_json(data, rng)
    document = json.loads(data)
    step = document["program"]["step"]
    calls = [node for node in step if node.get("kind") == "call"]
    for _ in range(rng.choice((1, 1, 3))):
        call = rng.choice(calls)
        kind = rng.randrange(4)
        if kind == 0:
            call["op"] = rng.choice(_OPS)
        elif kind == 1:
            call["args"] = change_data(call["args"], rng, 1)
        elif kind == 2 and call["result"]:
            call["result"] = rng.choice(calls)["result"]
        else:
            call["args"] = rng.choice(calls)["args"]
    return dumped(document)


def read(path: Path) -> None:
    """Load, and call with sound and with wild inputs."""
    loaded = poptorch.load(str(path))
    wild = [_INPUT, torch.zeros(4, dtype=torch.long)] if loaded._training else [_INPUT]
    for factor in (1, 1000):
        try:
            loaded(wild[0] * factor, *wild[1:])
        except (IndexError, RuntimeError, ValueError, TypeError):
            # of a kernel or a check at the call: an error like any other of the model
            continue
        except AssertionError as problem:
            raise poptorch.Error(f"{path}: {problem}") from problem


def refusals() -> tuple[type[BaseException], ...]:
    """Errors that name the file; another version is an AssertionError, as in PopTorch."""
    return (poptorch.Error, AssertionError)


EXPORTS = Target("exports", make, mutate, read, refusals, guarded=True, batch=200)
