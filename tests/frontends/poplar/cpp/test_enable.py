"""Headers and libraries are found by a shell that has read enable.sh, by CMake, and by the flags of the command."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tremula.cli.main import main
from tremula.frontends.poplar.cpp import installation

pytestmark = pytest.mark.timeout(600)

PROGRAM = """
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <iostream>
int main() {
  poplar::IPUModel model;
  std::cout << poplar::Graph(model.createDevice().getTarget()).getTarget().getNumTiles() << std::endl;
}
"""
MAKEFILE = "program: program.cpp\n\tg++ --std=c++11 program.cpp -lpoplar -o program\n"
CMAKE = """
cmake_minimum_required(VERSION 3.10)
project(example CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(poplar REQUIRED)
find_package(poplibs REQUIRED)
find_package(popops 3.0 REQUIRED)
add_executable(program program.cpp)
target_link_libraries(program poplar popops poputil)
"""


def clean(kit: Any, *more: str) -> dict[str, str]:
    """The variables of a shell that knows nothing of the libraries."""
    return {
        "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"),
        "PYTHONPATH": kit.environment["PYTHONPATH"], **{name: os.environ[name] for name in more},
        **{name: value for name, value in os.environ.items() if name.startswith("TREMULA_")},
    }  # fmt: skip


@pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("g++") is None, reason="make or g++ is missing"
)
def test_a_makefile_works_in_a_shell_that_has_read_the_script(kit: Any, tmp_path: Path) -> None:
    (tmp_path / "program.cpp").write_text(PROGRAM)
    (tmp_path / "Makefile").write_text(MAKEFILE)
    twice = f". {kit.sdk.script}; . {kit.sdk.script}"
    script = f"set -eu; {twice}; make -s; ./program; echo $LIBRARY_PATH $POPLAR_SDK_ENABLED"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=clean(kit),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.split() == ["1472", str(kit.sdk.lib), str(kit.sdk.root)], done.stderr


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake on this machine")
def test_cmake_finds_packages_and_targets(kit: Any, tmp_path: Path) -> None:
    (tmp_path / "program.cpp").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    environment = {**clean(kit), "CMAKE_PREFIX_PATH": str(kit.sdk.root)}
    for command in (["cmake", "-S.", "-Bbuild"], ["cmake", "--build", "build"]):
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(
        [tmp_path / "build" / "program"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stdout == "1472\n", done.stderr


def test_nothing_is_compiled_again(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_build", lambda *_: pytest.fail("it was compiled again"))
    assert installation.install(kit.sdk.root, optimisation="-O0") == kit.sdk


def test_a_folder_with_other_files_is_left_alone(
    kit: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").write_text("mine")
    monkeypatch.setattr(installation, "_libraries", lambda *_: None)
    assert main(["cpp", "enable", "--dir", str(tmp_path)]) != 0
    assert "other files" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["other"]


def test_the_command_prints_flags_and_the_script(
    kit: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "install", lambda *_: kit.sdk)
    assert main(["cpp", "--cflags"]) == 0
    assert capsys.readouterr().out.strip() == f"-isystem{kit.sdk.include}"
    assert main(["cpp", "--libs"]) == 0
    assert "-lpoplar" in capsys.readouterr().out
    assert main(["cpp", "enable"]) == 0
    assert f"export POPLAR_SDK_ENABLED={kit.sdk.root}" in capsys.readouterr().out
    assert main(["cpp"]) != 0
    assert "enable" in capsys.readouterr().err


def test_without_a_compiler_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation.compiler, "find", lambda: None)
    assert main(["cpp", "enable"]) != 0
    assert "apt install g++" in capsys.readouterr().err
