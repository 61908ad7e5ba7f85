"""The plugin in a pytest run of its own, as users' projects load it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_TESTS = """
import os
import poptorch

def test_a_cache_of_its_own(tremula_cache):
    assert not tremula_cache.exists()
    assert os.environ["TREMULA_CACHE_DIR"] == str(tremula_cache)

def test_a_system_of_its_own(tremula_system):
    tremula_system("pod16", ipus=3)
    assert poptorch.ipuHardwareIsAvailable(1)
    assert not poptorch.ipuHardwareIsAvailable(4)

def test_an_unknown_system_is_refused(tremula_system):
    tremula_system("pod17")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "test_model.py").write_text(_TESTS)
    return tmp_path


def run(project: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    ran = subprocess.run(command, cwd=project, capture_output=True, text=True, env=environment, timeout=100)
    return ran.stdout + ran.stderr


def test_fixtures_are_there_without_any_setting(project: Path) -> None:
    shown = run(project)
    assert "2 passed" in shown
    assert "1 failed" in shown
    assert "pod17" in shown


def test_pytest_starts_without_torch(tmp_path: Path) -> None:
    (tmp_path / "test_light.py").write_text(
        "import sys\ndef test_light():\n    assert not {'torch', 'numpy'} & set(sys.modules)\n"
    )
    assert "1 passed" in run(tmp_path)
