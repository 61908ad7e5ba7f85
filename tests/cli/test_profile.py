"""`tremula profile`: a real program in a process of its own, and what it leaves behind."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from tremula.cli.main import main
from tremula.profile import Profile

_PROGRAM = textwrap.dedent(
    """
    import sys
    import torch
    import poptorch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(16, 4)

        def forward(self, x):
            return torch.relu(self.layer(x))

    print("arguments", sys.argv[1:])
    if "--idle" not in sys.argv:
        poptorch.inferenceModel(Net())(torch.randn(2, 16))
    sys.exit(int(sys.argv[1]))
    """
)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "program.py"
    path.write_text(_PROGRAM)
    monkeypatch.chdir(tmp_path)
    return path


def test_a_program_is_run_and_its_profile_shown(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps({"opt.useAutoloader": "true"}))
    assert main(["profile", "-o", "here", "--html", "--trace", "-m", "program", "--", "3", "--html"]) == 3
    out = capfd.readouterr().out
    assert "arguments ['3', '--html']" in out, "what follows the program is the program's"
    assert "Profile: here/inference/profile.pop" in out
    assert "modelled" in out
    assert "  1. Run " in out, "what to change"
    assert "tremula view" in out
    folder = program.parent / "here" / "inference"
    assert sorted(each.name for each in folder.iterdir()) == [
        "framework.json", "profile.html", "profile.pop", "profile.trace.json"
    ]  # fmt: skip
    with Profile(folder / "profile.pop") as profile:
        op = next(op for op in profile.ops if op.target == "aten::addmm")
        assert op.module == "layer"
        assert op.source_file == str(program)
        assert op.source_line == _PROGRAM.splitlines().index("        return torch.relu(self.layer(x))") + 1
        options = {(option.section, option.name): option.value for option in profile.options}
        assert options["run", "model"] == "Net"
        assert "device iterations per call" in profile.advice[0].title
        assert profile.advice[0].effect > 1.5
        assert profile.lines(profile.advice[0])[0].startswith("options.deviceIterations(")
        assert options["engine", "autoReport.all"] == "true"
        assert options["engine", "opt.useAutoloader"] == "true"


def test_a_program_without_a_model_is_told(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(program), "0", "--idle"]) == 1
    assert "no profile was written" in capfd.readouterr().err
    assert main(["profile", "missing.py"]) == 1
    assert "no program" in capfd.readouterr().err


_FULL = textwrap.dedent(
    """
    import resource
    import torch
    import poptorch

    assert poptorch.ipuHardwareIsAvailable()  # the counters of the virtual IPUs are larger than what follows
    resource.setrlimit(resource.RLIMIT_FSIZE, (16384, resource.RLIM_INFINITY))
    print(poptorch.inferenceModel(torch.nn.Linear(16, 4))(torch.ones(2, 16)).shape)
    """
)


@pytest.mark.parametrize("output", ["here", "program.py/here"])
def test_a_profile_that_finds_no_room_is_not_a_program_without_a_model(
    output: str, program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TREMULA_STATE_DIR", str(program.parent / "state"))
    program.write_text(_FULL)
    assert main(["profile", "-o", output, "program.py"]) == 1
    captured = capfd.readouterr()
    assert "torch.Size([2, 4])" in captured.out
    last = captured.err.strip().splitlines()[-1]
    assert last.startswith("tremula: no profile was written: The profile")
    assert f"{output}/inference/profile.pop cannot be written: " in last
    assert "compiled no" not in last


def test_a_profile_without_the_chip_model_is_explained(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")
    assert main(["profile", "program.py", "0"]) == 1
    last = capfd.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("tremula: no profile was written: profiles need the chip model")
