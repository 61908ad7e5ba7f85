"""Cycles derived from code, in Python and in C++, beside what the chip takes."""

from __future__ import annotations

import numpy as np
import pytest

from tremula.frontends.poplar.codelets.codelet import EstimateSource, Shapes
from tremula.frontends.poplar.codelets.cpp import assembly, codelet, compiler, counting, library, sources
from tremula.frontends.poplar.codelets.python_classes import (
    Input,
    MultiVertex,
    Output,
    SupervisorVertex,
    Vector,
    Vertex,
)
from tremula.frontends.poplar.codelets.python_codelet import PythonCodelet
from tremula.frontends.poplar.types import FLOAT, INT, UNSIGNED_INT

TEXT = """
#include <poplar/Vertex.hpp>
using namespace poplar;
struct Dot : Vertex {
  Input<Vector<float>> x, y; Output<float> out;
  bool compute() {
    float total = 0;
    for (unsigned i = 0; i < x.size(); ++i) total += x[i] * y[i];
    *out = total;
    return true;
  }
};
struct Wait : SupervisorVertex {
  bool compute() { for (volatile int i{}; i < 100; ++i) ; return true; }
};
struct Share : MultiVertex {
  InOut<Vector<float>> x;
  bool compute(unsigned w) { for (unsigned i = w; i < x.size(); i += 6) x[i] *= 2.0f; return true; }
};
struct Times : Vertex {
  Input<unsigned> rows; Input<Vector<float>> x; Output<float> out; unsigned columns;
  bool compute() {
    float total = 0;
    for (unsigned i = 0; i < rows * columns; ++i) total += x[i % 4];
    *out = total;
    return true;
  }
};
struct Falls : Vertex {
  Input<Vector<int>> x; Output<int> out;
  bool compute() { *out = 7 / x[0]; return true; }
};
"""
#: cycles of one vertex of the tutorial's product of 143 elements on hardware: 28,300 for 48 vertices on a tile
TUTORIAL = (28_300 - 600) / 48


class Dot(Vertex):
    x: Input[Vector[FLOAT]]
    y: Input[Vector[FLOAT]]
    out: Output[FLOAT]

    def compute(self):
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i] * self.y[i]
        self.out = total


class Times(Vertex):
    rows: Input[UNSIGNED_INT]
    x: Input[Vector[FLOAT]]
    out: Output[FLOAT]
    columns: int

    def compute(self):
        total = 0.0
        for _ in range(self.rows):
            for j in range(self.columns):
                total += self.x[j]
        self.out = total


class Share(MultiVertex):
    x: Output[Vector[FLOAT]]

    def compute(self, worker):
        for i in range(worker, len(self.x), 6):
            self.x[i] = 1.0


class Wait(SupervisorVertex):
    n: int

    def compute(self):
        for _ in range(self.n):
            pass


class Own(Vertex):
    x: Input[Vector[INT]]

    def compute(self):
        pass

    @staticmethod
    def estimate(sizes, state):
        return 7 + 2 * sizes["x"]


def sizes(*counts):
    column = np.array(counts)
    return Shapes(len(counts), {"x": column, "y": column})


def test_the_dot_product_in_python_takes_what_the_chip_takes():
    found = PythonCodelet(Dot).estimate(sizes(143, 1143))
    assert found.source is EstimateSource.DERIVED
    assert found.cycles[0] == pytest.approx(TUTORIAL, rel=0.05)
    assert found.cycles[1] - found.cycles[0] == 4000
    assert found.flops.tolist() == [286, 2286]


def test_members_and_constants_say_how_often_loops_run():
    columns = {"columns": np.array([10, 20, 0])}
    shapes = Shapes(3, {"x": np.array([30, 30, 30])}, state=columns, scalars={"rows": np.array([5, 5, 5])})
    found = PythonCodelet(Times).estimate(shapes).cycles
    assert found[1] - found[0] == 5 * 10 * 2
    assert found[2] < found[0]


def test_a_vertex_of_all_workers_takes_as_long_as_the_slowest():
    found = PythonCodelet(Share).estimate(Shapes(3, {"x": np.array([6, 12, 13])})).cycles
    assert found[1] - found[0] == 6
    assert found[2] - found[1] == 6


def test_a_class_may_say_what_it_takes():
    found = PythonCodelet(Own).estimate(Shapes(2, {"x": np.array([1, 5])}))
    assert (found.cycles.tolist(), found.source) == ([9, 17], EstimateSource.CODELET)


@pytest.fixture(scope="module")
def cpp():
    if (
        compiler.find() is None
        or counting._program(library.prepare(sources.of_text(TEXT, ""), False, 6)) is None
    ):
        pytest.skip("no counters here")
    return codelet.load(library.prepare(sources.of_text(TEXT, ""), False, 6))


def test_the_dot_product_in_cpp_takes_what_the_chip_takes(cpp):
    found = cpp["Dot"].estimate(sizes(143, 1143, 0))
    assert found.source is EstimateSource.DERIVED
    assert found.cycles[0] == pytest.approx(TUTORIAL, rel=0.05)
    assert found.cycles[1] - found.cycles[0] == 4000
    assert found.cycles[2] < 20
    assert found.flops.tolist() == [286, 2286, 0]


def test_the_waiting_supervisor_takes_what_the_chip_takes(cpp):
    # 3,600 cycles in the published block profile, of which 3,618 to 3,620 with its start
    assert cpp["Wait"].estimate(Shapes(1, {})).cycles[0] == pytest.approx(3619, rel=0.02)


def test_workers_are_counted_apart(cpp):
    found = cpp["Share"].estimate(Shapes(2, {"x": np.array([600, 1200])})).cycles
    assert found[1] - found[0] == 6 * 100 * 3  # a load, a product and a store


def test_constants_are_known_and_others_are_said_not_to_be(cpp):
    shapes = Shapes(
        2,
        {"x": np.array([4, 4])},
        state={"columns": np.array([10, 20], np.uint32)},
        scalars={"rows": np.array([5, 5])},
    )
    found = cpp["Times"].estimate(shapes)
    assert found.source is EstimateSource.DERIVED
    assert found.cycles[1] > 1.8 * found.cycles[0]
    unknown = cpp["Times"].estimate(
        Shapes(1, {"x": np.array([4])}, state={"columns": np.array([10], np.uint32)})
    )
    assert unknown.source is EstimateSource.STATIC


def test_many_sizes_lie_on_a_line(cpp):
    counts = np.arange(0, 3000, 3)
    found = cpp["Dot"].estimate(sizes(*counts)).cycles
    np.testing.assert_allclose(np.diff(found)[5:], 12, atol=1.0)


def test_a_codelet_that_fails_on_made_up_data_is_guessed(cpp):
    found = cpp["Falls"].estimate(Shapes(1, {"x": np.array([10])}))
    assert (found.cycles[0], found.source) == (20 + 6 * 10, EstimateSource.GUESSED)


def test_counters_of_assembly():
    loop = ".L2:\n\tmulss\t(%rsi,%rax,4), %xmm0\n\taddq\t$1, %rax\n\tcmpq\t%rax, %rdx\n\tjne\t.L2\n"
    text = f"\t.text\nf:\n\tmovss\t(%rdi), %xmm0\n{loop}\tret\n"
    counted = assembly.counted(text).splitlines()
    assert counted[2:4] == ["\tleaq\t1(%r15), %r15", "\tmovss\t(%rdi), %xmm0"]
    # a load and a product; the chip repeats the loop in hardware
    assert counted[5:7] == ["\tleaq\t2(%r15), %r15", "\tleaq\t1(%r14), %r14"]
