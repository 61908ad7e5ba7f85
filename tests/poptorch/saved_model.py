"""A model that tests save to files and load."""

from __future__ import annotations

import json
import zipfile
from typing import Any

import torch

import poptorch

X = torch.linspace(-1, 1, 16).reshape(4, 4)
Y = torch.tensor([0, 1, 2, 3])


class Net(torch.nn.Module):
    """Drop-out makes the random state matter, batch norm the buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.drop = torch.nn.Dropout(0.5)
        self.loss = torch.nn.CrossEntropyLoss()

    def forward(self, x: torch.Tensor, target: torch.Tensor | None = None) -> Any:
        out = self.drop(self.norm(self.fc(x)))
        return (out, self.loss(out, target)) if self.training else out


def quiet_options() -> poptorch.Options:
    """Options that print nothing."""
    return poptorch.Options().showCompilationProgressBar(False)


def edit_manifest(path: str, **changes: Any) -> None:
    """Replace entries of the manifest of a file."""
    with zipfile.ZipFile(path) as container:
        entries = {name: container.read(name) for name in container.namelist()}
    manifest = {**json.loads(entries["manifest.json"]), **changes}
    with zipfile.ZipFile(path, "w") as container:
        for name, data in {**entries, "manifest.json": json.dumps(manifest)}.items():
            container.writestr(name, data)
