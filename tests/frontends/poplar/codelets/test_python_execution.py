"""Python codelets: computed at once, translated to C++ and run as they are, they give the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula import log
from tremula.frontends.poplar.codelets.cpp import compiler
from tremula.frontends.poplar.codelets.python.plain import PlainRunner
from tremula.frontends.poplar.codelets.python_classes import (
    InOut,
    Input,
    MultiVertex,
    Output,
    Vector,
    VectorList,
    Vertex,
)
from tremula.frontends.poplar.codelets.python_codelet import PythonCodelet
from tremula.frontends.poplar.errors import ApplicationRuntimeError
from tremula.frontends.poplar.types import BOOL, FLOAT, HALF, INT, UNSIGNED_CHAR, UNSIGNED_INT

needs_compiler = pytest.mark.skipif(compiler.find() is None, reason="no C++ compiler")
OFFSET = 3


class Scale(Vertex):
    x: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]
    k: float

    def compute(self):
        for i in range(len(self.x)):
            self.y[i] = self.k * self.x[i]


class Dot(Vertex):
    x: Input[Vector[FLOAT]]
    y: Input[Vector[FLOAT]]
    out: Output[FLOAT]

    def compute(self):
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i] * self.y[i]
        self.out = total
        return True


class Smooth(Vertex):
    x: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]

    def compute(self):
        n = len(self.x)
        for i in range(n):
            left = self.x[i - 1] if i > 0 else self.x[0]
            right = self.x[i + 1] if i < n - 1 else self.x[n - 1]
            self.y[i] = 0.25 * left + 0.5 * self.x[i] + 0.25 * right


class Prefix(Vertex):
    x: InOut[Vector[FLOAT]]

    def compute(self):
        for i in range(1, len(self.x)):
            self.x[i] += self.x[i - 1]


class Count(Vertex):
    x: Input[Vector[INT]]
    above: Output[INT]
    largest: Output[INT]

    def compute(self):
        count = 0
        best = -(2**31)
        for i in range(len(self.x)):
            if self.x[i] > 0 and self.x[i] % 2 == 0:
                count += 1
            best = max(best, self.x[i])
        self.above = count
        self.largest = best


class Whole(Vertex):
    x: Input[Vector[FLOAT]]
    y: InOut[Vector[FLOAT]]
    total: Output[FLOAT]

    def compute(self):
        self.y[:] = np.exp(-self.x[:] * self.x) + self.y[:] / 2
        self.total = sum(self.x) + np.max(self.y)


class Matrix(Vertex):
    a: Input[Vector[FLOAT]]
    x: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]

    def compute(self):
        columns = len(self.x)
        for row in range(len(self.y)):
            total = 0.0
            for column in range(columns):
                total += self.a[row * columns + column] * self.x[column]
            self.y[row] = total


class Lists(Vertex):
    parts: Input[VectorList[FLOAT]]
    y: Output[Vector[FLOAT]]

    def compute(self):
        for i in range(len(self.y)):
            self.y[i] = 0.0
        for part in range(len(self.parts)):
            for i in range(len(self.parts[part])):
                self.y[i] += math.sqrt(abs(self.parts[part][i]))


class Workers(MultiVertex):
    x: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]

    def compute(self, worker):
        for i in range(worker, self.x.size(), self.numWorkers()):
            self.y[i] = self.x[i] * 2.0 + float(worker)


class Bytes(Vertex):
    x: Input[Vector[UNSIGNED_CHAR]]
    flags: Input[Vector[BOOL]]
    y: Output[Vector[UNSIGNED_CHAR]]
    z: Output[Vector[UNSIGNED_INT]]
    state: int

    def compute(self):
        for i, value in enumerate(self.x):
            self.y[i] = value * 200 + OFFSET
            self.z[i] = (value << 28) - 5 if self.flags[i] else ~value
        self.state += 1


class Halves(Vertex):
    x: Input[Vector[HALF]]
    y: Output[Vector[HALF]]

    def compute(self):
        for i in range(len(self.x)):
            self.y[i] = self.x[i] * 0.3 + self.x[i] / 7


class Powers(Vertex):
    x: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]
    n: int
    own: Vector[FLOAT]

    def compute(self):
        a, b = 1.0, self.own[0]
        for _ in range(self.n):
            a, b = b, a * 0.5
        for i in range(len(self.x)):
            self.y[i] = abs(self.x[i]) ** 1.5 + a - b * self.own[-1]


class Newton(Vertex):
    x: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]

    def compute(self):
        for i in range(len(self.x)):
            guess = 1.0
            while abs(guess * guess - abs(self.x[i])) > 1e-3:
                guess = 0.5 * (guess + abs(self.x[i]) / guess)
                if guess > 100.0:
                    break
            self.y[i] = guess


class Branches(Vertex):
    x: Input[Vector[FLOAT]]
    y: InOut[Vector[FLOAT]]
    kept: Output[FLOAT]

    def compute(self):
        kept = 0.0
        for i in range(len(self.x)):
            if self.x[i] > 0 or i == 0:
                self.y[i] = self.x[i] - 1.0
                kept += self.y[i]
            elif i + 1 < len(self.x) and self.x[i + 1] < 0:
                self.y[i] *= -1.0
        self.kept = kept


CASES = {
    Branches: (("y", "kept"), lambda n: {"x": n, "y": n}, None),
    Scale: (("x", "y"), lambda n: {"x": n, "y": n}, lambda n, v: {"k": np.linspace(-1, 1, v)}),
    Dot: (("out",), lambda n: {"x": n, "y": n}, None),
    Smooth: (("y",), lambda n: {"x": n + 1, "y": n + 1}, None),
    Prefix: (("x",), lambda n: {"x": n}, None),
    Count: (("above", "largest"), lambda n: {"x": n}, None),
    Whole: (("y", "total"), lambda n: {"x": n + 1, "y": n + 1}, None),
    Matrix: (("y",), lambda n: {"a": 3 * n, "x": n, "y": 3}, None),
    Lists: (("y",), lambda n: {"parts": [2, n, 1], "y": n + 2}, None),
    Workers: (("y",), lambda n: {"x": n, "y": n}, None),
    Bytes: (("y", "z"), lambda n: {"x": n, "flags": n, "y": n, "z": n}, lambda n, v: {"state": np.arange(v)}),
    Halves: (("y",), lambda n: {"x": n, "y": n}, None),
    Powers: (
        ("y",),
        lambda n: {"x": n, "y": n},
        lambda n, v: {"n": np.arange(v) % 3, "own": [[0.5, 1.0 + i] for i in range(v)]},
    ),
    Newton: (("y",), lambda n: {"x": n, "y": n}, None),
}


def batch_of(batches, vertex, seed, count, size, strided, accurate):
    _, sizes, state = CASES[vertex]
    rng = np.random.default_rng(seed)
    return batches.make(
        PythonCodelet(vertex), count, sizes(size), rng, strided=strided, accurate=accurate,
        state=None if state is None else state(size, count),
    )  # fmt: skip


def expected(batches, vertex, batch):
    """What plain Python computes."""
    other = batches.copy(batch)
    PlainRunner(vertex, PythonCodelet(vertex).fields, other).run()
    return other


def check(batches, vertex, found, wanted):
    for name in CASES[vertex][0]:
        for mine, theirs in zip(batches.values(found, name), batches.values(wanted, name), strict=True):
            tolerance = 1e-5 if mine.dtype.itemsize > 2 else 4e-3
            np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)
    for name, column in found.state.items():
        if isinstance(column, np.ndarray):
            np.testing.assert_array_equal(column, wanted.state[name])


@pytest.mark.parametrize(
    "vertex", [each for each in CASES if each is not Newton], ids=lambda each: each.__name__
)
@settings(max_examples=15)
@given(
    seed=st.integers(0, 1000),
    count=st.integers(1, 6),
    size=st.integers(0, 9),
    strided=st.booleans(),
    accurate=st.booleans(),
)
def test_computed_at_once_as_one_by_one(batches, vertex, seed, count, size, strided, accurate):
    batch = batch_of(batches, vertex, seed, count, size, strided, accurate)
    wanted = expected(batches, vertex, batch)
    codelet = PythonCodelet(vertex)
    assert not codelet.plan.refusal
    codelet._vectorised(batch, PlainRunner(vertex, codelet.fields, batch))()
    check(batches, vertex, batch, wanted)


@needs_compiler
@pytest.mark.parametrize(
    ("vertex", "accurate"),
    [*((each, False) for each in CASES), (Halves, True)],
    ids=lambda each: getattr(each, "__name__", each),
)
@settings(max_examples=10)
@given(seed=st.integers(0, 1000), count=st.integers(1, 6), size=st.integers(0, 9), strided=st.booleans())
def test_translated_as_python(batches, vertex, accurate, seed, count, size, strided):
    batch = batch_of(batches, vertex, seed, count, size, strided, accurate)
    wanted = expected(batches, vertex, batch)
    TRANSLATED.setdefault((vertex, accurate), PythonCodelet(vertex))._compiled(batch)()
    check(batches, vertex, batch, wanted)


TRANSLATED = {}


class InPlace(Vertex):
    x: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]

    def compute(self):
        for i in range(1, len(self.x)):
            self.y[i] = self.x[i - 1] + 1.0


def test_an_output_on_the_elements_of_an_input(batches):
    codelet = PythonCodelet(InPlace)
    batch = batches.make(codelet, 3, {"x": 6, "y": 6}, np.random.default_rng(0))
    batch.edges["y"] = batch.edges["x"]
    wanted = expected(batches, InPlace, batch)
    assert not codelet.plan.sequential  # apart, the loop is parallel
    assert codelet._plan_for(batch).sequential
    codelet._vectorised(batch, PlainRunner(InPlace, codelet.fields, batch))()
    np.testing.assert_array_equal(batches.values(batch, "y"), batches.values(wanted, "y"))


class Shifted(Vertex):
    x: InOut[Vector[FLOAT]]

    def compute(self):
        self.x[1:] = self.x[:-1] * 2


@needs_compiler
def test_all_values_are_computed_before_one_is_written(batches):
    codelet = PythonCodelet(Shifted)
    batch = batches.make(codelet, 2, {"x": 5}, np.random.default_rng(0))
    before = batches.values(batch, "x")
    codelet._compiled(batch)()
    for mine, old in zip(batches.values(batch, "x"), before, strict=True):
        np.testing.assert_array_equal(mine[1:], old[:-1] * 2)


class Outside(Vertex):
    x: InOut[Vector[FLOAT]]
    n: int

    def compute(self):
        for i in range(self.n):
            self.x[i] = 1.0


@pytest.mark.parametrize("way", ["_vectorised", "plain", pytest.param("_compiled", marks=needs_compiler)])
def test_an_index_outside_is_an_error(batches, way):
    codelet = PythonCodelet(Outside)
    batch = batches.make(codelet, 2, {"x": 3}, np.random.default_rng(0), state={"n": [3, 4]})
    plain = PlainRunner(Outside, codelet.fields, batch)
    run = {"_vectorised": lambda: codelet._vectorised(batch, plain)(), "plain": plain.run}.get(
        way, lambda: codelet._compiled(batch)()
    )
    with pytest.raises(ApplicationRuntimeError, match="index 3 is o"):
        run()


class Wordy(Vertex):
    x: InOut[Vector[FLOAT]]

    def compute(self):
        for i, word in enumerate(["a", "bc"]):
            self.x[i] = len(word)


def test_plain_python_warns_once_and_says_where(batches, capsys):
    log.forget_once()
    codelet = PythonCodelet(Wordy)
    for _ in range(2):
        batch = batches.make(codelet, 1, {"x": 2}, np.random.default_rng(0))
        codelet.bind(batch)()
        assert batches.values(batch, "x")[0].tolist() == [1, 2]
    printed = capsys.readouterr().err
    assert printed.count("Wordy is executed slowly") == 1
    assert "test_python_execution.py:" in printed


class Chaotic(Vertex):
    x: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]

    def compute(self):
        for i in range(len(self.x)):
            self.y[i] = math.exp(self.x[i])


def test_the_first_run_is_compared_with_plain_python(batches, monkeypatch, capsys):
    from dataclasses import replace

    from tremula.frontends.poplar.codelets.python import functions

    log.forget_once()
    monkeypatch.setitem(functions.TABLE, "exp", replace(functions.TABLE["exp"], numpy=np.expm1))
    monkeypatch.setattr(
        PythonCodelet, "_compiled", lambda self, batch: PlainRunner(Chaotic, self.fields, batch).run
    )
    codelet = PythonCodelet(Chaotic)
    batch = batches.make(codelet, 2, {"x": 3, "y": 3}, np.random.default_rng(0))
    wanted = expected(batches, Chaotic, batch)
    codelet._vectorised(batch, PlainRunner(Chaotic, codelet.fields, batch))()
    np.testing.assert_array_equal(batches.values(batch, "y"), batches.values(wanted, "y"))
    assert "computed at once" in capsys.readouterr().err


def test_ways_are_chosen(batches, monkeypatch):
    def way(vertex, count=2):
        codelet = PythonCodelet(vertex)
        batch = batch_of(batches, vertex, 0, count, 5, False, False)
        return codelet.choose(batch)[0]

    monkeypatch.setattr("tremula.frontends.poplar.codelets.python_codelet._has_compiler", lambda: True)
    assert [way(each) for each in (Scale, Dot, Matrix, Prefix, Newton)] == [
        "vectorised", "vectorised", "compiled", "compiled", "compiled"
    ]  # fmt: skip
    monkeypatch.setattr("tremula.frontends.poplar.codelets.python_codelet._has_compiler", lambda: False)
    assert [way(each) for each in (Scale, Matrix, Newton)] == ["vectorised", "vectorised", "plain"]
