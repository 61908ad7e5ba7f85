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
from tremula.frontends.poplar.cpp.installation import Installation, install

PROGRAMS = Path(__file__).parent / "programs"
SECONDS = 120


@dataclass(frozen=True)
class Kit:
    """Compiles programs, and runs them with the libraries."""

    sdk: Installation
    place: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables that a program needs, and the packages that are tested."""
        return {**os.environ, "LD_LIBRARY_PATH": str(self.sdk.lib), "PYTHONPATH": os.pathsep.join(sys.path)}

    def build(self, source: Path, *libraries: str) -> Path:
        """Compile a program, unless that was done."""
        target = self.place / source.stem
        if not target.exists():
            found = compiler.find()
            assert found is not None
            names = [f"-l{each}" for each in (*libraries, "poplar")]
            subprocess.run(
                [*found.command, "-std=c++11", "-O0", "-Wall", "-Wextra", "-Werror", f"-isystem{self.sdk.include}",
                 str(source), f"-L{self.sdk.lib}", *names, "-o", str(target)],
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
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    """The libraries and a place for programs."""
    if compiler.find() is None:
        assert not os.environ.get("CI"), "no C++ compiler: the tests of C++ would prove nothing"
        pytest.skip("no C++ compiler on this machine")
    place = tmp_path_factory.mktemp("cpp")
    return Kit(install(place / "sdk", optimisation="-O0"), place)


@pytest.fixture
def run_text(kit: Kit, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Compiles and runs a text, with codelets beside it."""

    def run(
        text: str, *libraries: str, codelets: str = "", **options: str
    ) -> subprocess.CompletedProcess[str]:
        source = tmp_path / f"program{len(list(kit.place.iterdir()))}.cpp"
        source.write_text(text)
        if codelets:
            (tmp_path / "codelets.cpp").write_text(codelets)
        program = kit.build(source, *libraries)
        return subprocess.run(
            [program], capture_output=True, text=True, timeout=SECONDS, check=False, cwd=tmp_path,
            env={**kit.environment, **options},
        )  # fmt: skip

    return run


has_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake on this machine")
