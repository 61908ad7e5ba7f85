"""What a wrapped model tells the ledger and the log about its times."""

import pytest
import torch

import poptorch
from tremula import log


@pytest.fixture(autouse=True)
def levels():
    with log.levels_restored():
        yield


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, x, labels):
        out = self.layer(x)
        return out, torch.nn.functional.cross_entropy(out, labels)


def test_the_ledger_gets_the_figures(monkeypatch):
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")
    model = poptorch.trainingModel(Network())
    for _ in range(3):
        model(torch.ones(4, 3), torch.ones(4, dtype=torch.long))
    entry = model._ledger.settled()
    assert (entry.calls, entry.samples, entry.first_calls, entry.first_samples) == (3, 12, 1, 4)
    assert 0 < entry.capture_seconds < entry.compile_seconds < entry.first_seconds < entry.seconds
    assert entry.steady[:2] == (2, 8)
    assert entry.why_quick == "TREMULA_EXECUTION=quick"
    assert not entry.compiled_from
    model.destroy()
    model(torch.ones(2, 3), torch.ones(2, dtype=torch.long))
    assert model._ledger.settled().first_calls == 2


def test_capture_and_first_call_are_logged_when_they_happen(capfd):
    poptorch.setLogLevel("INFO")
    model = poptorch.inferenceModel(Network())
    for _ in range(2):
        model(torch.ones(4, 3), torch.ones(4, dtype=torch.long))
    err = capfd.readouterr().err
    assert err.count("[tremula] [info] inferenceModel Network: captured in ") == 1
    assert " ops)" in err
    assert err.count("[tremula] [info] inferenceModel Network: first call in ") == 1
