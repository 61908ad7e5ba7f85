"""C++ of maximum pooling with windows of two by two, for compiled code: vectors of neighbours are taken apart. Element
by element, as a compiler writes it, a comparison is a branch that the processor often guesses wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tremula.frontends.torch.execute.direct_convolution import Vectors, parallel_loop

WINDOW = 2
#: code for some results of a row: the first of them, their number
Step = Callable[[int, int, Vectors], Iterator[str]]


@dataclass(frozen=True)
class Pooling:
    """A pooling of images that lie in memory one after the other, row by row."""

    images: int
    height: int
    width: int

    @property
    def result(self) -> tuple[int, int]:
        """Height and width of what comes out."""
        return self.height // WINDOW, self.width // WINDOW


def maxima_code(pooling: Pooling, vectors: Vectors, *, threads: int) -> str:
    """The body of a function of `X` and `Y`: the largest value of each window, NaN if there is one."""
    return "\n".join(_rows(pooling, vectors, threads, _maximum))


def places_code(pooling: Pooling, vectors: Vectors, *, threads: int) -> str:
    """The body of a function of `X` and `Y`, 8-bit integers: where in its window the first largest value is."""
    return "\n".join(_rows(pooling, vectors, threads, _place))


def _rows(pooling: Pooling, vectors: Vectors, threads: int, step: Step) -> Iterator[str]:
    rows, width = pooling.result
    yield "using vec = at::vec::Vectorized<float>;"
    yield parallel_loop(threads)
    yield f"for (int64_t n = 0; n < {pooling.images}; ++n) for (int64_t y = 0; y < {rows}; ++y) {{"
    yield f"const float* upper = X + (n * {pooling.height} + {WINDOW} * y) * {pooling.width};"
    yield f"const float* lower = upper + {pooling.width};"
    yield f"auto result = Y + (n * {rows} + y) * {width};"
    for vector in range(vectors.across(width)):
        yield "{"
        count = vectors.count(width, vector)
        for row in ("upper", "lower"):
            yield from _apart(row, WINDOW * vector * vectors.width, WINDOW * count, vectors)
        yield from step(vector * vectors.width, count, vectors)
        yield "}"
    yield "}"


def _apart(row: str, start: int, count: int, vectors: Vectors) -> Iterator[str]:
    """The elements at even and at odd places of a part of a row."""
    first, second = min(count, vectors.width), max(0, count - vectors.width)
    for half, (place, held) in enumerate(((start, first), (start + vectors.width, second))):
        tail = "" if held == vectors.width else f", {held}"
        loaded = f"vec::loadu({row} + {place}{tail})" if held else "vec(0.0f)"
        yield f"vec {row}_{half} = {loaded};"
    yield f"auto {row}_pair = at::vec::deinterleave2({row}_0, {row}_1);"


def _maximum(start: int, count: int, vectors: Vectors) -> Iterator[str]:
    yield "vec top = at::vec::maximum(upper_pair.first, upper_pair.second);"
    yield "vec bottom = at::vec::maximum(lower_pair.first, lower_pair.second);"
    tail = "" if count == vectors.width else f", {count}"
    yield f"at::vec::maximum(top, bottom).store(result + {start}{tail});"


def _place(start: int, count: int, vectors: Vectors) -> Iterator[str]:
    yield "vec best = upper_pair.first, place(0.0f);"
    candidates = ("upper_pair.second", "lower_pair.first", "lower_pair.second")
    for number, candidate in enumerate(candidates, start=1):
        yield f"{{ vec other = {candidate};"
        yield "vec taken = (other > best) | ((other != other) & (best == best));"
        yield "best = vec::blendv(best, other, taken);"
        yield f"place = vec::blendv(place, vec({number}.0f), taken); }}"
    yield f"alignas(64) float places[{vectors.width}];"
    yield "place.store(places);"
    yield f"for (int64_t x = 0; x < {count}; ++x) result[{start} + x] = static_cast<int8_t>(places[x]);"
