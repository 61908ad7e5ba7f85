"""The public packages are typed: programs in tests/release/typed pass `mypy --strict`, and mistakes are found.

`make lint` checks the programs as well, in seconds.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "typed"
SOURCES = Path(__file__).parents[2] / "src"
#: packages that say by `py.typed` that they are typed
TYPED = sorted(marker.parent.name for marker in SOURCES.glob("*/py.typed"))


def test_every_package_that_mypy_checks_is_marked_and_the_other_way_round() -> None:
    text = (SOURCES.parent / "pyproject.toml").read_text(encoding="utf-8")
    packages = re.search(r"^\[tool\.mypy\].*?^packages = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    assert packages is not None
    assert sorted(re.findall(r'"(\w+)"', packages[1])) == TYPED


@pytest.mark.parametrize(
    "stub", sorted(SOURCES.rglob("*.pyi")), ids=lambda path: path.parent.name + "." + path.stem
)
def test_stubs_declare_the_public_names_of_their_module(stub: Path) -> None:
    name = ".".join(stub.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    if name == "popart._internal.ir":
        return  # its names are of any type
    module = importlib.import_module(name)
    text = stub.read_text(encoding="utf-8")
    declared = set(
        re.findall(r"^(?:def|class) (\w+)|^(\w+)(?::| =) |import .*?\bas (\w+)", text, re.MULTILINE)
    )
    names = {each for found in declared for each in found if each} | set(re.findall(r"\bas (\w+)", text))
    for starred in re.findall(r"^from (\S+) import \*", text, re.MULTILINE):
        names |= set(importlib.import_module(starred, name).__all__)
    public = getattr(module, "__all__", None)
    assert public is not None
    assert set(public) - names == set()


def check(*files: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """What mypy says about programs, as a user would call it: without the configuration of this repository."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(cache)]
    return subprocess.run([*command, *map(str, files)], capture_output=True, text=True, timeout=600)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_programs_are_typed_and_mistakes_are_found(tmp_path: Path) -> None:
    clean = check(*sorted(FOLDER.glob("*_program.py")), cache=tmp_path)
    assert clean.returncode == 0, clean.stdout
    source = FOLDER / "mistakes.py"
    expected = {
        (number, line.rpartition("# ")[2])
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1)
        if "  # " in line
    }
    found = check(source, cache=tmp_path)
    told = re.findall(r"mistakes\.py:(\d+): error: .*\[([\w-]+)\]$", found.stdout, re.MULTILINE)
    assert {(int(line), kind) for line, kind in told} == expected


@pytest.mark.parametrize("name", ["poptorch_program", "poplar_program", "popart_program"])
def test_programs_run(name: str) -> None:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for function in ("main", "popart_program", "popxl_program"):
        if hasattr(module, function):
            getattr(module, function)()
