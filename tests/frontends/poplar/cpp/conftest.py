"""Programs that are built with the C++ libraries."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tremula.frontends.poplar.codelets.cpp import compiler
from tremula.frontends.poplar.cpp.installation import LIBRARIES, Installation


@pytest.fixture
def run_program(installation: Installation, tmp_path: Path) -> Callable[[str], str]:
    """Compile the text of a program as C++11, run it, and return what it prints."""
    found = compiler.find()
    assert found is not None

    def run(text: str, standard: str = "c++11") -> str:
        source = tmp_path / "program.cpp"
        source.write_text(text)
        libraries = [f"-l{name}" for name in LIBRARIES]
        subprocess.run(
            [*found.command, f"-std={standard}", "-w", f"-I{installation.include}", str(source),
             f"-L{installation.lib}", *libraries, "-o", str(tmp_path / "program")],
            check=True, timeout=100,
        )  # fmt: skip
        environment = {**os.environ, "LD_LIBRARY_PATH": str(installation.lib)}
        done = subprocess.run(
            [str(tmp_path / "program")],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
