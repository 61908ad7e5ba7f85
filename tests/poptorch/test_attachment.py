"""Wrapped models hold virtual IPUs: when they take them, when they give them back, what is counted."""

import subprocess
import sys

import pytest
import torch

import poptorch
from tremula.machine.occupancy import current_occupancy


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.inner(x)


@pytest.fixture(autouse=True)
def four_ipus(tmp_path, monkeypatch):
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "4")
    monkeypatch.delenv("POPTORCH_WAIT_FOR_IPU", raising=False)


def wrapped(options=None):
    options = options or poptorch.Options()
    options.showCompilationProgressBar(False)
    return poptorch.inferenceModel(Net(), options)


def held():
    occupancy = current_occupancy()
    return [ipu for ipu in range(4) if occupancy.usage(ipu) is not None]


def test_a_model_is_attached_from_its_first_call_until_it_is_detached():
    model = wrapped()
    assert held() == []
    model(torch.zeros(2, 4))
    assert held() == [0]
    model.detachFromDevice()
    assert held() == []
    model.attachToDevice()
    assert held() == [0]
    model.destroy()
    assert held() == []


def test_a_model_that_nobody_has_any_more_gives_its_ipu_back():
    model = wrapped()
    model(torch.zeros(2, 4))
    del model
    assert held() == []


def test_connection_types():
    offline = wrapped(poptorch.Options().connectionType(poptorch.ConnectionType.Never))
    offline.compile(torch.zeros(2, 4))
    assert held() == []
    late = wrapped(poptorch.Options().connectionType(poptorch.ConnectionType.OnDemand))
    late.compile(torch.zeros(2, 4))
    assert held() == [0]
    named = wrapped(poptorch.Options().useIpuId(3))
    named.compile(torch.zeros(2, 4))
    assert held() == [0, 3]


def test_a_failed_compilation_holds_nothing():
    class Wrong(Net):
        def forward(self, x):
            return self.inner(x).nonzero()

    model = poptorch.inferenceModel(Wrong(), poptorch.Options().showCompilationProgressBar(False))
    with pytest.raises(poptorch.Error):
        model(torch.zeros(2, 4))
    assert held() == []


_OTHER = """
import sys, torch, poptorch
options = poptorch.Options().replicationFactor(4).showCompilationProgressBar(False)
model = poptorch.inferenceModel(torch.nn.Linear(4, 2), options)
model(torch.zeros(8, 4))
print("attached", flush=True)
sys.stdin.read()
"""


def test_failing_to_acquire_names_the_other_program_and_waiting_gets_the_ipu(monkeypatch):
    other = subprocess.Popen(
        [sys.executable, "-c", _OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline() == "attached\n"
        with pytest.raises(poptorch.Error, match=rf"(?s)Failed to acquire 1 IPU\(s\).*process {other.pid}"):
            wrapped()(torch.zeros(2, 4))
        counted = current_occupancy().usage(3)
        assert (counted.calls, counted.samples, counted.model) == (1, 8, "Linear")
        assert (counted.to_ipu_bytes, counted.from_ipu_bytes) == (8 * 4 * 4, 8 * 2 * 4)
        other.kill()
        other.wait()
        monkeypatch.setenv("POPTORCH_WAIT_FOR_IPU", "1")
        wrapped()(torch.zeros(2, 4))
    finally:
        other.kill()
        other.communicate()


def test_calls_are_counted_with_their_modelled_cycles():
    model = wrapped()
    for _ in range(3):
        model(torch.zeros(2, 4))
    model.detachFromDevice()
    counted = current_occupancy().counters.read(0)
    assert (counted.calls, counted.samples) == (3, 6)
    assert counted.modelled_cycles > 0
    assert 0 < counted.tile_bytes < counted.tile_memory_bytes
    assert counted.busy_seconds > 0


def test_an_ipu_model_holds_nothing(monkeypatch):
    model = wrapped(poptorch.Options().useIpuModel(True))
    model(torch.zeros(2, 4))
    assert held() == []
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "0")
    assert not poptorch.ipuHardwareIsAvailable()
    with pytest.raises(AssertionError, match="No hardware available"):
        poptorch.ipuHardwareVersion()


@pytest.mark.parametrize(("system", "version"), [("c2", 1), ("pod16", 2), ("bow2000", 2), ("c600", 21)])
def test_what_a_program_is_told_of_the_hardware(monkeypatch, system, version):
    monkeypatch.delenv("TREMULA_VIRTUAL_IPUS")
    monkeypatch.setenv("TREMULA_SYSTEM", system)
    assert poptorch.ipuHardwareIsAvailable()
    assert poptorch.ipuHardwareVersion() == version
    assert poptorch.ipuHardwareIsAvailable(16) == (system == "pod16")


def test_a_fault_on_request_is_met_by_the_program_and_recovered_from(monkeypatch):
    fault = '{"simulateSOCError.errorList": "IPUSOFTERR", "simulateSOCError.triggerCount": "3"}'
    monkeypatch.setenv("GCDA_OPTIONS", fault)
    model = wrapped()
    x = torch.ones(2, 4)
    first = model(x)  # attaching is the first use, this call the second
    with pytest.raises(poptorch.RecoverableError) as failed:
        model(x)
    assert failed.value.recovery_action == "IPU_RESET"
    assert torch.equal(model(x), first)


def test_a_fault_while_attaching_holds_nothing(monkeypatch):
    fault = '{"simulateSOCError.errorList": "IPU_MEMORY_FAILURE", "simulateSOCError.triggerCount": "1"}'
    monkeypatch.setenv("GCDA_OPTIONS", fault)
    with pytest.raises(poptorch.UnrecoverableError):
        wrapped()(torch.zeros(2, 4))
    assert held() == []
