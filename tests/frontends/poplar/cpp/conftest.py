"""The C++ libraries, compiled once for all tests, and what compiles programs with them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tremula.frontends.poplar.codelets.cpp import compiler
from tremula.frontends.poplar.cpp.installation import LIBRARIES, Installation

PROGRAMS = Path(__file__).parent / "programs"
SECONDS = 120


@dataclass(frozen=True)
class Kit:
    """Compiles programs, and runs them with the libraries."""

    sdk: Installation
    place: Path  #: of the programs

    @property
    def environment(self) -> dict[str, str]:
        """The variables that a program needs, and the packages that are tested."""
        return {**os.environ, "LD_LIBRARY_PATH": str(self.sdk.lib), "PYTHONPATH": os.pathsep.join(sys.path)}

    def build(
        self, source: Path, *libraries: str, standard: str = "c++11", place: Path | None = None
    ) -> Path:
        """Compile a program, unless that was done."""
        target = (place or self.place) / source.stem
        if not target.exists():
            found = compiler.find()
            assert found is not None
            names = [f"-l{each}" for each in (*libraries, "poplar")]
            subprocess.run(
                [*found.command, f"-std={standard}", "-O0", "-Wall", "-Wextra", "-Werror",
                 f"-isystem{self.sdk.include}", str(source), f"-L{self.sdk.lib}", *names, "-o", str(target)],
                check=True,
            )  # fmt: skip
        return target

    def program(self, name: str, *libraries: str) -> Path:
        """One of the programs beside the tests."""
        return self.build(PROGRAMS / f"{name}.cpp", *libraries)

    def run(self, program: Path, *arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
        """Run a program to its end."""
        return subprocess.run(
            [program, *arguments],
            capture_output=True, text=True, timeout=SECONDS, check=False, cwd=self.place,
            env={**self.environment, **options},
        )  # fmt: skip


@pytest.fixture(scope="session")
def kit(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Kit:
    """The libraries and a place for programs."""
    return Kit(installation, tmp_path_factory.mktemp("programs"))


@pytest.fixture
def run_program(kit: Kit, tmp_path: Path) -> Callable[..., str]:
    """Compile the text of a program with all libraries, run it, and return what it prints."""

    def run(text: str, standard: str = "c++11") -> str:
        source = tmp_path / "program.cpp"
        source.write_text(text)
        done = kit.run(kit.build(source, *LIBRARIES, standard=standard, place=tmp_path))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


has_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake on this machine")
