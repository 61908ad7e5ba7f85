"""popc: sources and what they include in one file, which needs nothing else."""

from __future__ import annotations

import shutil

import pytest

import poplar
from tremula.frontends.poplar.codelets.cpp import compiler
from tremula.frontends.poplar.errors import GraphObjectLoadError
from tremula.tools import popc

needs_compiler = pytest.mark.skipif(compiler.find() is None, reason="no C++ compiler")
SOURCE = """\
#include <poplar/Vertex.hpp>
#include "../shared/step.h"
#include <wide.h>
class Add : public poplar::Vertex {
public:
  poplar::InOut<poplar::Vector<int>> x;
  bool compute() { for (auto &each : x) each += STEP * WIDE * FACTOR; return true; }
};
"""


@pytest.fixture
def source(tmp_path):
    for folder in ("src", "shared", "include"):
        (tmp_path / folder).mkdir()
    (tmp_path / "src" / "add.cpp").write_text(SOURCE)
    (tmp_path / "shared" / "step.h").write_text("#define STEP 2\n")
    (tmp_path / "include" / "wide.h").write_text("#define WIDE 3\n")
    return tmp_path


def graph():
    return poplar.Graph(poplar.IPUModel().createDevice())


@needs_compiler
def test_the_file_is_complete(source, tmp_path_factory):
    output = tmp_path_factory.mktemp("elsewhere") / "add.gp"
    given = [
        str(source / "src" / "add.cpp"),
        "-O2",
        "-I",
        str(source / "include"),
        "-DFACTOR=5",
        "-o",
        str(output),
    ]
    assert popc.main(given) == 0
    again = output.read_bytes()
    assert popc.main(given) == 0
    assert output.read_bytes() == again  # the same sources give the same bytes
    shutil.rmtree(source / "src")
    shutil.rmtree(source / "shared")
    shutil.rmtree(source / "include")
    made = graph()
    made.addCodelets(str(output))
    assert made.hasCodelet("Add")


@needs_compiler
def test_errors_go_to_stderr_and_no_file_is_made(source, capsys):
    output = source / "add.gp"
    assert popc.main([str(source / "src" / "add.cpp"), "-o", str(output)]) == 1
    assert "wide.h" in capsys.readouterr().err
    assert not output.exists()


def test_without_a_compiler_sources_are_collected(source, capsys, monkeypatch):
    monkeypatch.setenv("TREMULA_CXX", "no-such-compiler")
    output = source / "add.gp"
    assert (
        popc.main([str(source / "src" / "add.cpp"), "-I" + str(source / "include"), "-o", str(output)]) == 0
    )
    assert "not checked" in capsys.readouterr().err
    assert output.is_file()


def test_version_and_help(capsys):
    assert popc.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("POPLAR version 3")
    assert popc.main(["--help"]) == 0
    assert "-o FILE" in capsys.readouterr().out
    assert popc.main([]) == 2


def test_what_popc_does_not_make_is_refused(source, capsys):
    assert popc.main([str(source / "src" / "add.cpp"), "-S"]) == 1
    assert "assembly" in capsys.readouterr().err
    assert popc.main(["missing.cpp"]) == 1
    assert "missing.cpp does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["cut", "other", "inside"])
def test_a_damaged_file_is_refused(source, damage, monkeypatch):
    monkeypatch.setenv("TREMULA_CXX", "no-such-compiler")
    output = source / "add.gp"
    popc.main([str(source / "src" / "add.cpp"), "-o", str(output)])
    data = output.read_bytes()
    half = len(data) // 2
    changed = {"cut": data[:half], "other": b"not this", "inside": data[:half] + b"!!" + data[half + 2 :]}
    output.write_bytes(changed[damage])
    with pytest.raises(GraphObjectLoadError, match=r"add.gp"):
        graph().addCodelets(str(output))
