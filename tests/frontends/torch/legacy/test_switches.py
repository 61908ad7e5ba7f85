"""The switches as programs meet them: old habits run with them, and errors without them name them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tremula.frontends.torch.legacy import PICKLE_SWITCH, SWITCH, hints

OLD_PROGRAM = """
import numpy as np, torch, poptorch

poptorch.setLogLevel("ERR")  # as optimum-graphcore does

class Order(torch.utils.data.Sampler):
    def __init__(self, data_source):
        super().__init__(data_source)

    def __iter__(self):
        return iter(range(3))

Order([1, 2, 3])
torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1), 3, verbose=False)
torch.save({"accuracy": np.float64(0.5)}, "old.pt")
print(np.float(torch.load("old.pt")["accuracy"]))
"""
WHOLE_OBJECT = "import torch, poptorch; torch.save(torch.nn.ReLU(), 'm.pt'); print(torch.load('m.pt'))"


def run(program: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if "LEGACY" not in name}
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**environment, **variables},
        check=False,
    )


def test_an_old_program_runs_with_the_switch(tmp_path: Path) -> None:
    done = run(OLD_PROGRAM, tmp_path, TREMULA_LEGACY_TORCH="1")
    assert (done.stdout, done.stderr) == ("0.5\n", "")


def test_without_it_the_program_fails_and_is_told_of_it(tmp_path: Path) -> None:
    done = run(OLD_PROGRAM, tmp_path)
    assert done.returncode == 1
    told = done.stderr.strip().splitlines()[-1]
    assert "Samplers of torch no longer take a data source. TREMULA_LEGACY_TORCH=1" in told


def test_whole_objects_need_a_switch_of_their_own_which_warns(tmp_path: Path) -> None:
    refused = run(WHOLE_OBJECT, tmp_path, TREMULA_LEGACY_TORCH="1")
    assert refused.returncode == 1
    assert (
        "Only if you trust the file, for it can execute any code: TREMULA_LEGACY_PICKLE=1" in refused.stderr
    )
    read = run(WHOLE_OBJECT, tmp_path, TREMULA_LEGACY_PICKLE="1")
    assert read.stdout == "ReLU()\n"
    assert "a file can execute any code. Load only files that you trust" in " ".join(read.stderr.split())


@pytest.mark.parametrize(
    ("habit", "said"),
    [
        (lambda: np.float, f"numpy has removed np.float. {SWITCH}=1"),  # type: ignore[attr-defined]
        (lambda: torch.utils.data.Sampler([1]), f"no longer take a data source. {SWITCH}=1"),
        (
            lambda: torch.optim.lr_scheduler.ExponentialLR(None, 0.1, verbose=True),  # type: ignore[arg-type,call-arg]
            f"no longer take verbose. {SWITCH}=1",
        ),
    ],
)
def test_each_habit_is_recognised_also_behind_another_error(habit, said, monkeypatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    with pytest.raises((AttributeError, TypeError)) as caught:
        habit()
    assert said in hints.hint(caught.value)
    outer = RuntimeError("the worker failed")
    outer.__cause__ = caught.value
    assert said in hints.hint(outer)
    monkeypatch.setenv(SWITCH, "1")
    assert hints.hint(caught.value) == ""


@pytest.mark.parametrize(
    "error",
    [
        AttributeError("module 'numpy' has no attribute 'flaot'"),
        AttributeError("'Net' object has no attribute 'float'"),
        TypeError("object.__init__() takes exactly one argument (the instance to initialize)"),
        TypeError("Net.__init__() got an unexpected keyword argument 'verbose'"),
        pickle.UnpicklingError("pickle data was truncated"),
    ],
)
def test_other_errors_get_no_hint(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (SWITCH, PICKLE_SWITCH):
        monkeypatch.delenv(name, raising=False)
    assert hints.hint(error) == ""
