"""With PVTI_OPTIONS, a program's file says what the host did and what the IPU would have done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tremula.trace.host_share import host_share
from tremula.trace.names import MODELLED, RUN
from tremula.trace.several import TraceSet

PROGRAM = """
import torch, poptorch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.loss = torch.nn.Linear(8, 8), torch.nn.MSELoss()

    def forward(self, x, y):
        found = self.layer(x)
        return found, self.loss(found, y)

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.ones(8) * index, torch.ones(8)

if __name__ == "__main__":
    options = poptorch.Options().showCompilationProgressBar(False)
    loader = poptorch.DataLoader(options, Data(), batch_size=4, {more})
    module = Model()
    model = poptorch.trainingModel(module, options, poptorch.optim.SGD(module.parameters(), lr=0.1))
    for x, y in loader:
        model(x, y)
    model.destroy()
"""


@pytest.mark.parametrize(
    "more", ["", "num_workers=2", "mode=poptorch.DataLoaderMode.Async"], ids=["sync", "workers", "async"]
)
def test_a_program_writes_one_trace_of_all_layers(tmp_path: Path, more: str) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM.replace("{more}", more))
    folder = tmp_path / "reports"
    environment = {**os.environ, "PVTI_OPTIONS": json.dumps({"enable": "true", "directory": str(folder)})}
    subprocess.run([sys.executable, program], env=environment, cwd=tmp_path, check=True, capture_output=True)
    traces = TraceSet(folder)
    assert len(traces.files) == 1
    events = traces.events
    found = {
        (traces.channels[channel], traces.texts[label])
        for channel, label in zip(events.channel, events.label, strict=True)
    }
    assert {
        ("Drivers", "attach"), ("Framework", "capture"), ("Framework", "Model call"), ("Poplar", "compile"),
        ("Poplar", "chip model"), ("Poplar", "load"), ("Poplar", RUN), ("Poplar", "cache lookup"),
        ("poptorch.DataLoader", "wait for data"), ("poptorch.trainingModel", "poptorch.trainingModel.modelExecution"),
        (MODELLED, "Model"),
    } <= found  # fmt: skip
    labels = np.array(traces.texts)[events.label]
    assert [(labels == each).sum() for each in (RUN, "Model call", "Model")] == [10, 10, 10]
    share = host_share(traces)
    assert share is not None
    assert share.calls == 10
    assert 0 < share.waits_share < 1


def test_without_options_the_trace_is_not_even_loaded() -> None:
    script = (
        "import sys, poptorch\n"
        "assert 'tremula.trace.writer' not in sys.modules\n"
        "assert 'libpvti' not in sys.modules"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PVTI_OPTIONS"}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
