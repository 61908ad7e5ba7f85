"""Python codelets: computed at once, translated to C++ and run as they are, they give the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
        for i in range(worker, len(self.x), self.numWorkers()):
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


CASES = {
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
@pytest.mark.parametrize("vertex", list(CASES), ids=lambda each: each.__name__)
@settings(max_examples=10)
@given(
    seed=st.integers(0, 1000),
    count=st.integers(1, 6),
    size=st.integers(0, 9),
    strided=st.booleans(),
    accurate=st.booleans(),
)
def test_translated_as_python(batches, vertex, seed, count, size, strided, accurate):
    batch = batch_of(batches, vertex, seed, count, size, strided, accurate)
    wanted = expected(batches, vertex, batch)
    PythonCodelet(vertex)._compiled(batch)()
    check(batches, vertex, batch, wanted)
