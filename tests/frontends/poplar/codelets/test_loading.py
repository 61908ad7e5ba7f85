"""Codelets come from classes, modules, files, text and archives; what cannot be used says why and what to do."""

from __future__ import annotations

import io
import types

import numpy as np
import pytest

import poplar
from poplar.program import Execute, Sequence
from tremula.frontends.poplar.codelets.cpp import compiler, library
from tremula.frontends.poplar.errors import (
    GraphObjectCreationError,
    GraphObjectLoadError,
    GraphProgramCompilationError,
    LinkError,
)

needs_compiler = pytest.mark.skipif(compiler.find() is None, reason="no C++ compiler")
TEXT = """
#include <poplar/Vertex.hpp>
#include "step.h"
class Add : public poplar::Vertex {
public:
  poplar::InOut<poplar::Vector<int>> x;
  bool compute() { for (auto &each : x) each += STEP; return true; }
};
"""


class Add(poplar.Vertex):
    x: poplar.InOut[poplar.Vector[poplar.INT]]

    def compute(self):
        for i in range(len(self.x)):
            self.x[i] += 3


def graph():
    return poplar.Graph(poplar.IPUModel().createDevice())


def added(made):
    """What a vertex of type Add makes of 0 to 3."""
    x = made.addVariable(poplar.INT, [4])
    made.setTileMapping(x, 0)
    work = made.addComputeSet()
    made.setTileMapping(made.addVertex(work, "Add", {"x": x}), 0)
    made.createHostWrite("x", x)
    made.createHostRead("x", x)
    engine = poplar.Engine(made, Sequence(Execute(work)))
    engine.load(poplar.IPUModel().createDevice())
    engine.writeTensor("x", np.arange(4, dtype=np.int32))
    engine.run(0)
    return engine.readTensor("x").tolist()


def test_a_class_a_list_and_a_module():
    module = types.ModuleType(__name__)
    module.Add = Add
    for source in (Add, [Add], module):
        made = graph()
        made.addCodelets(source)
        assert made.hasCodelet("Add")
    assert added(made) == [3, 4, 5, 6]


@needs_compiler
def test_a_file_a_text_and_a_stream(tmp_path):
    (tmp_path / "step.h").write_text("#define STEP 2\n")
    (tmp_path / "add.cpp").write_text(TEXT)
    made = graph()
    made.addCodelets(str(tmp_path / "add.cpp"))
    assert added(made) == [2, 3, 4, 5]
    plain = TEXT.replace('#include "step.h"\n', "")
    for source in (plain, io.StringIO(plain)):
        made = graph()
        made.addCodelets(source, "-DSTEP=5 -O3")
        assert added(made) == [5, 6, 7, 8]
    made = graph()
    made.addCodelets(TEXT, f"-I {tmp_path}")
    assert added(made) == [2, 3, 4, 5]


@needs_compiler
def test_compiled_once_for_the_same_text(monkeypatch):
    text = TEXT.replace('#include "step.h"', "#define STEP 7")
    graph().addCodelets(text)
    monkeypatch.setattr(library, "build", lambda *_: pytest.fail("compiled again"))
    monkeypatch.setattr(library, "_loaded", {})  # as in another process
    made = graph()
    made.addCodelets(text)
    assert made.hasCodelet("Add")


@needs_compiler
def test_an_error_of_the_compiler_names_the_users_file_and_line(tmp_path):
    path = tmp_path / "wrong.cpp"
    path.write_text(
        "#include <poplar/Vertex.hpp>\nclass X : public poplar::Vertex {\n  int compute() { return nothing; }\n};\n"
    )
    with pytest.raises(GraphProgramCompilationError, match=r"wrong.cpp:3:\d+: error:.*nothing"):
        graph().addCodelets(str(path))


@needs_compiler
def test_assembly_and_builtins_of_the_chip_are_named(tmp_path):
    path = tmp_path / "chip.cpp"
    head = "#include <poplar/Vertex.hpp>\nclass X : public poplar::Vertex {\n  bool compute() {\n"
    path.write_text(head + '    asm volatile("setzi $m0, 8");\n    return true; } };\n')
    with pytest.raises(GraphProgramCompilationError, match=r"chip.cpp:4: inline assembly for the chip"):
        graph().addCodelets(str(path))
    path.write_text(head + "    return __builtin_ipu_get_scount_l() > 0; } };\n")
    with pytest.raises(GraphProgramCompilationError, match=r"chip.cpp:4: __builtin_ipu_get_scount_l"):
        graph().addCodelets(str(path))


@needs_compiler
def test_a_codelet_in_assembly_is_refused_when_it_is_used():
    made = graph()
    made.addCodelets(
        "#include <poplar/Vertex.hpp>\nusing namespace poplar;\n"
        "class Add : public Vertex { public: InOut<Vector<int>> x;\n"
        "  static const bool isExternalCodelet = true; bool compute(); };"
    )
    with pytest.raises(LinkError, match="implemented in assembly"):
        added(made)


@needs_compiler
def test_code_for_the_chip_alone_is_tried_as_such():
    made = graph()
    made.addCodelets(
        "#ifndef __IPU__\n#error only for the chip\n#endif\n"
        + TEXT.replace('#include "step.h"', "#define STEP 1")
    )
    assert added(made) == [1, 2, 3, 4]


@needs_compiler
def test_a_program_that_is_its_own_codelets(tmp_path):
    path = tmp_path / "both.cpp"
    text = TEXT.replace('#include "step.h"', "#define STEP 4")
    path.write_text(f"#ifdef __POPC__\n{text}\n#else\n#include <nowhere.hpp>\nint main() {{}}\n#endif\n")
    made = graph()
    made.addCodelets(str(path))
    assert added(made) == [4, 5, 6, 7]


def test_without_a_compiler_the_error_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("TREMULA_CXX", str(tmp_path / "nothing"))
    with pytest.raises(GraphProgramCompilationError, match=r"TREMULA_CXX.*written as Python classes work"):
        graph().addCodelets(TEXT)


def test_what_is_no_source_is_refused(tmp_path):
    with pytest.raises(GraphObjectLoadError, match=r"nowhere.cpp does not exist"):
        graph().addCodelets("nowhere.cpp")
    (tmp_path / "x.S").write_text("nop\n")
    with pytest.raises(GraphObjectLoadError, match="is assembly for the chip"):
        graph().addCodelets(str(tmp_path / "x.S"))
    with pytest.raises(GraphObjectLoadError, match="AsmSource"):
        graph().addCodelets("x.cpp", poplar.CodeletFileType.AsmSource)
    with pytest.raises(GraphObjectLoadError, match="not 3"):
        graph().addCodelets(3)


def test_wrong_annotations_are_named():
    class Wrong(poplar.Vertex):
        x: poplar.Input[str]

        def compute(self):
            pass

    with pytest.raises(GraphObjectCreationError, match=r"str.*not a type of elements"):
        graph().addCodelets(Wrong)


class Laid(poplar.Vertex):
    x: poplar.Input[poplar.Vector[poplar.HALF, poplar.VectorLayout.ONE_PTR, 8]]
    y: poplar.InOut[poplar.Vector[poplar.INT]]
    lists: poplar.Vector[poplar.Output[poplar.Vector[poplar.FLOAT]]]
    anything: poplar.Input[poplar.Vector]
    own: poplar.Vector[np.uint8]
    flag: bool

    def compute(self):
        self.y[0] = 1


class Derived(Laid):
    more: poplar.Output[poplar.FLOAT]


def test_annotations():
    made = graph()
    made.addCodelets(Derived)
    fields = made.contents.codelets["Derived"].fields
    found = {name: (each.kind.value, each.direction.value, each.type) for name, each in fields.items()}
    assert found == {
        "x": ("vector", "Input", poplar.HALF),
        "y": ("vector", "InOut", poplar.INT),
        "lists": ("vector list", "Output", poplar.FLOAT),
        "anything": ("vector", "Input", None),
        "own": ("state vector", "state", poplar.UNSIGNED_CHAR),
        "flag": ("state", "state", poplar.BOOL),
        "more": ("scalar", "Output", poplar.FLOAT),
    }
    assert (fields["x"].min_align, fields["x"].has_size, fields["y"].has_size) == (8, False, True)
