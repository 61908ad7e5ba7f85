"""C++ codelets: every kind of field is found, bound by its name and computed for all vertices in one call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.poplar.codelets.codelet import Base, Direction, Kind
from tremula.frontends.poplar.codelets.cpp import codelet, compiler, library, sources
from tremula.frontends.poplar.codelets.names import NameTable
from tremula.frontends.poplar.codelets.python.plain import PlainRunner
from tremula.frontends.poplar.codelets.python_classes import Input, Output, Vector, Vertex
from tremula.frontends.poplar.codelets.python_codelet import PythonCodelet
from tremula.frontends.poplar.errors import ApplicationRuntimeError
from tremula.frontends.poplar.types import BY_NAME, FLOAT

pytestmark = pytest.mark.skipif(compiler.find() is None, reason="no C++ compiler")
VERTICES = Path(__file__).with_name("vertices.cpp")


def loaded(accurate=False):
    table = NameTable()
    table.update(codelet.load(library.prepare(sources.of_files([VERTICES], "-O1"), accurate, 6)))
    return table


@pytest.fixture(scope="module")
def cpp():
    return loaded()


@pytest.fixture(scope="module")
def accurate():
    return loaded(accurate=True)


def test_finds_vertices_and_no_other_classes(cpp):
    assert {each.name for each in cpp.values()} == {
        "Scale", "Dot", "outer::Combine<float,Mode::ADD>", "outer::Combine<half,Mode::MULTIPLY,5>",
        "outer::Combine<unsigned short,Mode::ADD,1>", "Lists", "CountByOne", "CountByTwo", "Rounded", "Vectors",
        "Checked", "Disagrees", "Picked",
    }  # fmt: skip


@pytest.mark.parametrize(
    "spelling",
    [
        "outer::Combine<unsigned short,Mode::ADD,1>",
        "outer::Combine<unsigned short, Mode::ADD, 1u>",
        "outer::Combine<std::uint16_t,Mode::ADD,1>",
        "outer::Combine<unsigned short,outer::Mode::ADD,1>",
    ],
)
def test_names_have_many_spellings(cpp, spelling):
    assert cpp[spelling].fields["a"].type is BY_NAME["UNSIGNED_SHORT"]


def test_fields(cpp):
    fields = cpp["Lists"].fields
    assert {name: (each.kind, each.direction, each.type) for name, each in fields.items()} == {
        "parts": (Kind.VECTOR_LIST, Direction.INPUT, FLOAT),
        "counts": (Kind.VECTOR_LIST, Direction.INPUT, BY_NAME["INT"]),
        "y": (Kind.VECTOR, Direction.OUTPUT, FLOAT),
        "weights": (Kind.STATE_VECTOR, Direction.NONE, FLOAT),
    }
    assert not cpp["Dot"].fields["y"].has_size
    assert cpp["Dot"].fields["x"].has_size
    assert cpp["Vectors"].fields["in"].min_align == 8
    assert [cpp[name].base for name in ("Dot", "Lists", "outer::Combine<float,Mode::ADD>")] == [
        Base.VERTEX, Base.SUPERVISOR, Base.MULTI_VERTEX
    ]  # fmt: skip


class ScaleInPython(Vertex):
    x: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]
    k: float

    def compute(self):
        for i in range(len(self.x)):
            self.y[i] = self.k * self.x[i]


class DotInPython(Vertex):
    x: Input[Vector[FLOAT]]
    y: Input[Vector[FLOAT]]
    out: Output[FLOAT]

    def compute(self):
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i] * self.y[i]
        self.out = total


@pytest.mark.parametrize(
    ("name", "vertex", "output"), [("Scale", ScaleInPython, "y"), ("Dot", DotInPython, "out")]
)
@settings(max_examples=30)
@given(seed=st.integers(0, 1000), data=st.data())
def test_the_same_vertex_in_python(batches, cpp, name, vertex, output, seed, data):
    sizes = data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=12))
    rng = np.random.default_rng(seed)
    batch = batches.make(
        cpp[name], len(sizes), {"x": sizes, "y": sizes}, rng, state={"k": rng.normal(size=len(sizes))}
    )
    python = batches.copy(batch)
    cpp[name].bind(batch)()
    PlainRunner(vertex, PythonCodelet(vertex).fields, python).run()
    for mine, theirs in zip(batches.values(batch, output), batches.values(python, output), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_workers_share_the_work(batches, cpp):
    made = cpp["outer::Combine<float,Mode::ADD>"]
    batch = batches.make(made, 3, {"a": [0, 5, 17], "b": [0, 5, 17]}, np.random.default_rng(1))
    a, b = batches.values(batch, "a"), batches.values(batch, "b")
    made.bind(batch)()
    for x, before, after in zip(a, b, batches.values(batch, "b"), strict=True):
        np.testing.assert_array_equal(after, before + 2 * x)


def test_lists_and_state_vectors(batches, cpp):
    rows = [[2, 3], [1], [3, 0, 2]]
    rng = np.random.default_rng(2)
    weights = [rng.normal(size=len(each)) for each in rows]
    batch = batches.make(
        cpp["Lists"],
        3,
        {"parts": rows, "counts": [[1, 2], [0], [1, 1, 1]], "y": 4},
        rng,
        state={"weights": weights},
    )
    parts, counts = batches.values(batch, "parts"), batches.values(batch, "counts")
    cpp["Lists"].bind(batch)()
    edge = 0
    for vertex, own in enumerate(rows):
        expected = np.zeros(4, np.float32)
        for place in range(len(own)):
            expected[: len(parts[edge])] += parts[edge] * np.float32(weights[vertex][place])
            expected[0] += counts[edge].sum()
            edge += 1
        np.testing.assert_allclose(batches.values(batch, "y")[vertex], expected, rtol=1e-5, atol=1e-5)


def test_members_keep_their_values_from_run_to_run(batches, cpp):
    made = cpp["CountByTwo"]
    table = np.arange(12).reshape(3, 4)
    batch = batches.make(made, 3, {}, np.random.default_rng(0), state={"count": [10, 20, 30], "table": table})
    made.bind(batch)()
    # as the executor does after the first run between guards
    made.bind(batch)()
    assert [int(each[0]) for each in batches.values(batch, "value")] == [14 + 3, 24 + 7, 34 + 11]
    assert batch.state["count"].tolist() == [14, 24, 34]


def test_an_array_that_was_not_set_is_zero(batches, cpp):
    batch = batches.make(cpp["CountByOne"], 1, {}, np.random.default_rng(0))
    cpp["CountByOne"].bind(batch)()
    assert batches.values(batch, "value")[0][0] == 1


def test_half_is_rounded_where_it_is_accurate(batches, accurate):
    made = accurate["Rounded"]
    batch = batches.make(made, 2, {"in": 8, "out": 8}, np.random.default_rng(3), accurate=True)
    given = batches.values(batch, "in")
    made.bind(batch)()
    for x, y, most in zip(given, batches.values(batch, "out"), batches.values(batch, "largest"), strict=True):
        assert y.dtype == np.float16
        np.testing.assert_array_equal(y, x / np.float16(3) + np.float16(0.1))
        assert most[0] == y.max()


def test_half_is_single_precision_where_it_is_not(batches, cpp):
    batch = batches.make(cpp["Rounded"], 1, {"in": 8, "out": 8}, np.random.default_rng(3))
    (given,) = batches.values(batch, "in")
    cpp["Rounded"].bind(batch)()
    np.testing.assert_array_equal(batches.values(batch, "out")[0], given / np.float32(3) + np.float32(0.1))


@pytest.mark.parametrize("named", ["g++", "clang++"])
def test_numbers_of_enumerations_are_whole_numbers(batches, monkeypatch, capfd, named):
    monkeypatch.setenv("TREMULA_CXX", named)
    if compiler.find() is None:
        pytest.skip(f"there is no {named}")
    made = loaded()["Picked"]
    batch = batches.make(made, 1, {"in": 4000, "out": 2000}, np.random.default_rng(3))
    given = batches.values(batch, "in")[0]
    made.bind(batch)()
    np.testing.assert_array_equal(batches.values(batch, "out")[0], given[1::2] + ord("\n"))
    assert capfd.readouterr().out == "\n" * 2000


@settings(max_examples=20)
@given(seed=st.integers(0, 100), pairs=st.integers(0, 9))
def test_vector_types_and_functions(batches, cpp, seed, pairs):
    rng = np.random.default_rng(seed)
    batch = batches.make(cpp["Vectors"], 2, {"in": 2 * pairs, "out": 2 * pairs}, rng, state={"pairs": pairs})
    given = batches.values(batch, "in")
    cpp["Vectors"].bind(batch)()
    for x, y in zip(given, batches.values(batch, "out"), strict=True):
        squares = (x.reshape(-1, 2) ** 2 + np.float32([1, 2]))[:, ::-1]
        np.testing.assert_allclose(y, 2 * np.exp(-np.abs(squares)).reshape(-1), rtol=1e-5)


def test_print_and_assert(batches, cpp, capsys):
    batch = batches.make(cpp["Checked"], 3, {}, np.random.default_rng(0))
    divisors = np.array([4, 0, 5], dtype=np.int32)
    for offset, value in zip(batch.edges["divisor"].offsets, divisors, strict=True):
        batch.buffer[offset : offset + 4] = value.reshape(1).view(np.uint8)
    run = cpp["Checked"].bind(batch)
    with pytest.raises(
        ApplicationRuntimeError, match=r"vertex 1 of type Checked.*divisor != 0.*vertices.cpp:\d+"
    ):
        run()
    assert capsys.readouterr().out == "divisor 4 of 1000\ndivisor 0 of 1000\n"
    assert batches.values(batch, "out")[0][0] == 250


def test_a_run_says_whether_all_vertices_agree(batches, cpp):
    batch = batches.make(cpp["Disagrees"], 2, {"x": 1}, np.random.default_rng(0))
    batch.buffer[:] = 0
    run = cpp["Disagrees"].bind(batch)
    assert [run(), run(), run()] == [True, True, False]
