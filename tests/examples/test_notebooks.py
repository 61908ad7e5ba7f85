"""The notebooks in examples/notebooks run from top to bottom and show what they are about."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"
#: a fragment of the markup that each notebook shows
SHOWN = {
    "estimate": ["<table", "of a tile", "poptorch.BeginBlock"],
    "profile": ["cycles (modelled)", "<iframe sandbox"],
}


def shown(notebook: Any) -> str:
    """All output of a notebook."""
    parts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            parts.append(output.get("text", ""))
            parts += map(str, output.get("data", {}).values())
    return "\n".join(parts)


def test_every_notebook_is_tested() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(SHOWN)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "commit notebooks without output"
    environment = {"resources": {"metadata": {"path": str(tmp_path)}}}
    NotebookClient(notebook, timeout=100, kernel_name="python3", **environment).execute(env=dict(os.environ))
    text = shown(notebook)
    assert [fragment for fragment in SHOWN[name] if fragment not in text] == []
