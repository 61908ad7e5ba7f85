"""Files of compiled models that somebody made to do harm."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

import poptorch
from tremula.frontends.torch.execute.compile_request import request_for


class Selecting(torch.nn.Module):
    """Selects from 16 numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.arange(16.0))

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return (self.table[index] * 2).relu()


def _saved(path: Path, size: int = 4) -> Path:
    model = poptorch.inferenceModel(Selecting(), poptorch.Options().showCompilationProgressBar(False))
    model.compile(torch.zeros(size, dtype=torch.int32))
    model.save(str(path))
    return path


def _replace(path: Path, old: bytes, new: bytes) -> None:
    with zipfile.ZipFile(path) as container:
        entries = {name: container.read(name) for name in container.namelist()}
    assert old in entries["program.json"]
    with zipfile.ZipFile(path, "w") as container:
        for name, data in entries.items():
            container.writestr(name, data.replace(old, new) if name == "program.json" else data)


def test_an_op_that_skips_the_comparison_of_indices_is_refused_by_name(tmp_path: Path) -> None:
    path = _saved(tmp_path / "model.poptorch")
    _replace(path, b"aten::index.Tensor", b"aten::_unsafe_index.Tensor")
    with pytest.raises(
        poptorch.Error, match=r"model\.poptorch cannot be used: its program calls 'aten::_unsafe_index"
    ):
        poptorch.load(str(path))


@pytest.mark.parametrize("index", [1000, 10**8, -17])
def test_an_index_out_of_range_is_an_error_in_the_quick_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: int
) -> None:
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")
    loaded = poptorch.load(str(_saved(tmp_path / "model.poptorch")))
    with pytest.raises(IndexError, match="out of bounds"):
        loaded(torch.tensor([0, 1, index, 2], dtype=torch.int32))


_CALLS = """
import sys
import torch
import poptorch
torch.set_num_threads(2)
loaded = poptorch.load(sys.argv[1])
index = torch.zeros(100_000, dtype=torch.int32)
loaded(index)
assert "gives other numbers" not in loaded._compiled().executable.report.why_quick
form = loaded._compiled().executable.choice
for wrong in (1000, 10**8):
    index[77] = wrong
    try:
        loaded(index)
    except IndexError as error:
        print("refused:", error)
"""


@pytest.mark.slow
def test_an_index_out_of_range_is_an_error_in_compiled_code_with_several_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _saved(tmp_path / "model.poptorch", 100_000)
    monkeypatch.setenv("TREMULA_EXECUTION", "compiled")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    done = subprocess.run(
        [sys.executable, "-c", _CALLS, str(path)], capture_output=True, text=True, cwd=tmp_path, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused: index") == 2


def test_code_for_a_program_of_a_file_compares_all_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)

    def options(function: object, *arguments: torch.Tensor, untrusted: bool) -> dict[str, object]:
        graph = torch.fx.experimental.proxy_tensor.make_fx(function)(*arguments)
        graph.graph.output_node().args = ([graph.graph.output_node().args[0]],)
        return request_for({"turn": graph}, {"turn": list(arguments)}, untrusted=untrusted).options

    numbers, index = torch.arange(16.0), torch.zeros(4, dtype=torch.int64)
    own = options(lambda x, i: x[i], numbers, index, untrusted=False)
    foreign = options(lambda x, i: x[i], numbers, index, untrusted=True)
    assert (own["check_indices"], own["threads"]) == (False, 4)
    assert (foreign["check_indices"], foreign["threads"]) == (True, 1)
    assert options(lambda x: x + 1, numbers, untrusted=True)["threads"] == 4


_ESCAPES = "\\u001b[2J\\u001b]0;owned\\u0007"


def _edit(path: Path, entry: str, old: str, new: str) -> None:
    with zipfile.ZipFile(path) as container:
        entries = {name: container.read(name) for name in container.namelist()}
    assert old.encode() in entries[entry]
    with zipfile.ZipFile(path, "w") as container:
        for name, data in entries.items():
            container.writestr(name, data.replace(old.encode(), new.encode()) if name == entry else data)


def test_a_class_name_of_a_file_does_not_steer_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    path = _saved(tmp_path / "model.poptorch")
    _edit(path, "model.json", ":Selecting", f":Selecting{_ESCAPES}")
    loaded = poptorch.load(str(path))
    with pytest.raises(poptorch.Error) as refused:
        loaded._user_model(torch.zeros(4))
    shown = "".join((repr(loaded._user_model), str(refused.value), caplog.text, *capfd.readouterr()))
    assert "Selecting·[2J" in shown
    assert not set("\x1b\x07") & set(shown)


def test_the_name_of_a_file_does_not_steer_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from tremula.cli.main import main

    hostile = tmp_path / "\x1b[2Jmodel"
    hostile.write_bytes(b"nothing")
    with pytest.raises(poptorch.Error) as refused:
        poptorch.load(str(hostile))
    assert main(["view", str(hostile)]) == 1
    shown = str(refused.value) + refused.value.message + capfd.readouterr().err
    assert "·[2Jmodel" in shown
    assert "\x1b" not in shown


def test_members_of_a_model_have_names_that_can_be_printed(tmp_path: Path) -> None:
    path = _saved(tmp_path / "model.poptorch")
    _edit(path, "model.json", '{"table":', '{"table' + _ESCAPES + '":')
    with pytest.raises(poptorch.Error, match="has a member called"):
        poptorch.load(str(path))
