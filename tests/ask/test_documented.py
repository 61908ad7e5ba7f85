"""The examples of the documentation run as they are written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import poptorch

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("advice", "chip-model", "estimate", "scale")


class Model(nn.Module):
    """A classifier with its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 10))
        self.loss = nn.CrossEntropyLoss()

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        result = self.layers(images)
        return result, self.loss(result, labels)


def examples(page: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return [
        code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "tremula import ask" in code
    ]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    images, labels = torch.zeros(4, 32), torch.zeros(4, dtype=torch.long)
    model, options = Model(), poptorch.Options()
    optimizer = poptorch.optim.SGD(model.parameters(), lr=0.1)
    training_model = poptorch.trainingModel(
        Model(), poptorch.Options(), poptorch.optim.SGD(Model().parameters(), 0.1)
    )
    names: dict[str, Any] = {
        "poptorch": poptorch, "model": model, "options": options, "optimizer": optimizer, "images": images,
        "labels": labels, "training_model": training_model,
        "loader": DataLoader(TensorDataset(images, labels), batch_size=3),
    }  # fmt: skip
    found = examples(page)
    assert found
    for code in found:
        code = code.replace('print(found.explain("layers/0/mm_2"))', "")  # the name of an op of another model
        code = code.replace("found.together", "found.together; training_model.compile(images, labels)")
        exec(compile(code, f"{page}.md", "exec"), names)  # noqa: S102
