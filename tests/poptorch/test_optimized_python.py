"""`python -O` leaves out asserts; what a user gave is checked all the same."""

from __future__ import annotations

import json
import subprocess
import sys

_PROGRAM = """
import json
import torch, poptorch

assert False, "this runs only where asserts are left out"


def refused(action):
    try:
        action()
    except AssertionError as error:
        return str(error)
    return None


def combined_batch():
    options = poptorch.Options()
    options.deviceIterations(3)
    poptorch.inferenceModel(torch.nn.Linear(2, 2), options)(torch.zeros(8, 2))


model = poptorch.inferenceModel(torch.nn.Linear(2, 2))
options = poptorch.Options()
print(json.dumps({
    "combined batch": refused(combined_batch),
    "argument": refused(lambda: model(torch.zeros(1, 2), torch.zeros(1, 2))),
    "option": refused(lambda: options.useIpuId("0")),
    "strategy": refused(lambda: options.setExecutionStrategy("pipelined")),
    "optimizer": refused(lambda: poptorch.optim.SGD(model.parameters(), lr=0.1, accum_type=torch.int32)),
    "op": refused(lambda: poptorch.serializedMatMul(torch.zeros(2, 2), torch.zeros(2, 2), "outputs", 2)),
    "block": refused(lambda: poptorch.Stage(3)),
    "tensor": refused(model.getTensorNames),
    "invariant": refused(lambda: __import__("tremula.invariants").invariants.present(None, "it")),
}))
"""


def test_checks_of_what_the_user_gave_run_without_asserts():
    command = [sys.executable, "-O", "-c", _PROGRAM]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout.splitlines()[-1])
    assert "(8) must be a multiple" in found.pop("combined batch")
    assert [name for name, message in found.items() if not message] == []
