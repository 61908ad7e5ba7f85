"""C++ of convolutions with few channels, and of their gradients, for compiled code: direct loops over rows of images,
with sums in registers. The libraries that torch calls work on blocks of 16 channels and take tens of microseconds for
a call; where a network has 1, 5 or 12 channels these loops take a third of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

#: a row of results takes at most so many vectors
_MOST_VECTORS = 4
#: packed weights lie on the stack
_MOST_WEIGHTS = 16_384
#: floats of one image with its borders, which lie there as well
_MOST_PADDED = 65_536
#: from so many channels on both sides the libraries' blocks are full
_MANY_CHANNELS = 16
#: larger problems are worth a library's call
_MOST_FLOPS = 50_000_000


@dataclass(frozen=True)
class Convolution:
    """A convolution of stride one, by all that its code depends on.

    Attributes:
        images: in the batch.
        inputs: channels.
        outputs: channels.
        size: height and width of an image.
        window: height and width of the weights.
        padding: above and below, left and right.
        strides: of the weights, by output, input, row, column.
        first: where in memory the weights begin.
    """

    images: int
    inputs: int
    outputs: int
    size: tuple[int, int]
    window: tuple[int, int]
    padding: tuple[int, int]
    strides: tuple[int, int, int, int]
    first: int = 0

    @property
    def result(self) -> tuple[int, int]:
        """Height and width of what comes out."""
        height, width = (
            size + 2 * pad - window + 1
            for size, pad, window in zip(self.size, self.padding, self.window, strict=True)
        )
        return height, width

    @property
    def flops(self) -> int:
        """Floating-point operations."""
        count = 2 * self.images * self.inputs * self.outputs
        for extent in (*self.result, *self.window):
            count *= extent
        return count

    def of_input(self) -> Convolution:
        """The convolution of the result's gradient that gives the input's: with the weights the other way round."""
        rows, columns = self.window
        by_output, by_input, by_row, by_column = self.strides
        return replace(
            self,
            inputs=self.outputs,
            outputs=self.inputs,
            size=self.result,
            padding=(rows - 1 - self.padding[0], columns - 1 - self.padding[1]),
            strides=(by_input, by_output, -by_row, -by_column),
            first=self.first + (rows - 1) * by_row + (columns - 1) * by_column,
        )


@dataclass(frozen=True)
class Vectors:
    """What the processor has: floats of a vector, and how many sums fit into its registers beside operands."""

    width: int

    @property
    def sums(self) -> int:
        return 24 if self.width >= 16 else 12

    def across(self, extent: int) -> int:
        """Vectors of a row."""
        return -(-extent // self.width)

    def count(self, extent: int, vector: int) -> int:
        """Elements of the row in one of its vectors."""
        return min(self.width, extent - vector * self.width)


def is_direct(problem: Convolution, vectors: Vectors) -> bool:
    """Whether this code is the faster one, and fits."""
    height, width = problem.result
    return (
        min(height, width, *problem.size, problem.images) > 0
        and min(problem.padding) >= 0
        and min(problem.inputs, problem.outputs) < _MANY_CHANNELS
        and vectors.across(width) <= _MOST_VECTORS
        and problem.window[1] <= vectors.sums // 2
        and problem.inputs * problem.outputs * problem.window[0] * problem.window[1] <= _MOST_WEIGHTS
        and problem.inputs * _padded_height(problem) * _pitch(problem, vectors) <= _MOST_PADDED
        and problem.flops <= _MOST_FLOPS
    )


def _padded_height(problem: Convolution) -> int:
    return problem.size[0] + 2 * problem.padding[0]


def _pitch(problem: Convolution, vectors: Vectors) -> int:
    """Floats from one row of a padded image to the next: whole vectors can be read for every window."""
    needed = problem.window[1] - 1 + vectors.across(problem.result[1]) * vectors.width
    return max(needed, problem.size[1] + 2 * problem.padding[1])


def even_blocks(extent: int, most: int) -> int:
    """The size of equal blocks of `extent` that are no larger than `most`."""
    blocks = -(-extent // max(1, most))
    return -(-extent // blocks)


def parts(extent: int, block: int) -> list[tuple[int, int, int]]:
    """First, end and size of the blocks of `extent`: those of full size, then what remains."""
    full = extent // block * block
    parts = [(0, full, block)] if full else []
    return parts + ([(full, extent, extent - full)] if extent > full else [])


_HEAD = "using vec = at::vec::Vectorized<float>;"


def forward_code(problem: Convolution, vectors: Vectors, *, biased: bool, threads: int) -> str:
    """The body of a function of `X`, `W`, `B` (if there is a bias) and `Y`."""
    across = vectors.across(problem.result[1])
    block = even_blocks(problem.outputs, vectors.sums // across)
    rows = even_blocks(problem.result[0], max(1, vectors.sums // (block * across)))
    padded = any(problem.padding)
    pitch = _pitch(problem, vectors) if padded else problem.size[1]
    lines = [_HEAD, *_packed(problem, block)]
    lines += [parallel_loop(threads), f"for (int64_t n = 0; n < {problem.images}; ++n) {{"]
    plane = problem.size[0] * problem.size[1]
    lines.append(f"const float* image = X + n * {problem.inputs * plane};")
    if padded:
        lines += _bordered(problem, pitch)
    lines.append(f"float* result = Y + n * {problem.outputs * problem.result[0] * problem.result[1]};")
    for first, end, size in parts(problem.outputs, block):
        lines.append(f"for (int64_t o = {first}; o < {end}; o += {size}) {{")
        for top, bottom, height in parts(problem.result[0], rows):
            lines.append(f"for (int64_t y = {top}; y < {bottom}; y += {height}) {{")
            lines += _tile(problem, vectors, size, height, pitch, biased=biased, padded=padded)
            lines.append("}")
        lines.append("}")
    return "\n".join([*lines, "}"])


def _packed(problem: Convolution, block: int) -> Iterator[str]:
    """Weights by block of outputs, input, row and column, so that a tile reads them one after the other."""
    rows, columns = problem.window
    by_output, by_input, by_row, by_column = problem.strides
    taps = problem.inputs * rows * columns
    yield f"alignas(64) float packed[{problem.outputs * taps}];"
    for first, end, size in parts(problem.outputs, block):
        yield f"for (int64_t o = {first}; o < {end}; o += {size})"
        yield f"for (int64_t i = 0; i < {problem.inputs}; ++i)"
        yield f"for (int64_t k = 0; k < {rows}; ++k) for (int64_t l = 0; l < {columns}; ++l)"
        yield f"for (int64_t c = 0; c < {size}; ++c)"
        yield (
            f"packed[o * {taps} + ((i * {rows} + k) * {columns} + l) * {size} + c] = W[{problem.first} + "
            f"(o + c) * {by_output} + i * {by_input} + k * ({by_row}) + l * ({by_column})];"
        )


def _bordered(problem: Convolution, pitch: int) -> Iterator[str]:
    """The image with zeros around it."""
    height, width = problem.size
    above, left = problem.padding
    tall = _padded_height(problem)
    yield f"alignas(64) float bordered[{problem.inputs * tall * pitch}] = {{}};"
    yield f"for (int64_t i = 0; i < {problem.inputs}; ++i) for (int64_t y = 0; y < {height}; ++y)"
    yield (
        f"std::memcpy(bordered + (i * {tall} + y + {above}) * {pitch} + {left}, image + (i * {height} + y) * {width}, "
        f"{width} * sizeof(float));"
    )


def _tile(
    problem: Convolution,
    vectors: Vectors,
    outputs: int,
    height: int,
    pitch: int,
    *,
    biased: bool,
    padded: bool,
) -> Iterator[str]:
    """Some rows of some outputs, all of their sums in registers."""
    window_rows, window_columns = problem.window
    rows, width = problem.result
    across = vectors.across(width)
    places = [(row, vector) for row in range(height) for vector in range(across)]
    for c in range(outputs):
        for row, vector in places:
            yield f"vec s{c}_{row}_{vector}({f'B[o + {c}]' if biased else '0.0f'});"
    source = "bordered" if padded else "image"
    tall = _padded_height(problem)
    taps = problem.inputs * window_rows * window_columns
    yield f"const float* weights = packed + o * {taps};"
    yield f"for (int64_t i = 0; i < {problem.inputs}; ++i) for (int64_t k = 0; k < {window_rows}; ++k) {{"
    yield f"const float* from = {source} + (i * {tall} + y + k) * {pitch};"
    yield f"for (int64_t l = 0; l < {window_columns}; ++l, ++from, weights += {outputs}) {{"
    for row, vector in places:
        count = vectors.width if padded else vectors.count(width, vector)
        yield f"vec x{row}_{vector} = {_loaded(f'from + {row * pitch + vector * vectors.width}', count, vectors)};"
    for c in range(outputs):
        yield f"{{ vec w(weights[{c}]);"
        for row, vector in places:
            yield f"s{c}_{row}_{vector} = at::vec::fmadd(w, x{row}_{vector}, s{c}_{row}_{vector});"
        yield "}"
    yield "} }"
    for c in range(outputs):
        for row, vector in places:
            count = vectors.count(width, vector)
            place = f"result + ((o + {c}) * {rows} + y + {row}) * {width} + {vector * vectors.width}"
            yield f"s{c}_{row}_{vector}.store({place}{'' if count == vectors.width else f', {count}'});"


def _loaded(place: str, count: int, vectors: Vectors) -> str:
    return f"vec::loadu({place}{'' if count == vectors.width else f', {count}'})"


def weight_gradient_code(problem: Convolution, vectors: Vectors, *, threads: int) -> str:
    """The body of a function of `G` (the gradient of the result), `X` and `Y` (that of the weights, contiguous)."""
    rows, columns = problem.window
    block = even_blocks(problem.outputs, vectors.sums // columns)
    height, width = problem.size
    above, left = problem.padding
    padded = left > 0
    pitch = _pitch(problem, vectors) if padded else width
    lines = [_HEAD]
    if padded:
        lines += [
            f"std::vector<float> wide({problem.images * problem.inputs * height * pitch}, 0.0f);",
            f"for (int64_t row = 0; row < {problem.images * problem.inputs * height}; ++row)",
            f"std::memcpy(wide.data() + row * {pitch} + {left}, X + row * {width}, {width} * sizeof(float));",
            "const float* source = wide.data();",
        ]
    else:
        lines.append("const float* source = X;")
    lines += [parallel_loop(threads), f"for (int64_t tap = 0; tap < {problem.inputs * rows}; ++tap) {{"]
    lines.append(f"const int64_t i = tap / {rows}, k = tap % {rows};")
    lines.append(f"const int64_t top = std::max<int64_t>(0, {above} - k);")
    lines.append(f"const int64_t bottom = std::min<int64_t>({problem.result[0]}, {height + above} - k);")
    for first, end, size in parts(problem.outputs, block):
        lines.append(f"for (int64_t o = {first}; o < {end}; o += {size}) {{")
        lines += _weight_tile(problem, vectors, size, pitch, padded=padded)
        lines.append("}")
    return "\n".join([*lines, "}"])


def _weight_tile(
    problem: Convolution, vectors: Vectors, outputs: int, pitch: int, *, padded: bool
) -> Iterator[str]:
    """The weights of some outputs for one row of the window, all of their sums in registers."""
    rows, columns = problem.window
    result_rows, width = problem.result
    height, above = problem.size[0], problem.padding[0]
    sums = [(c, column) for c in range(outputs) for column in range(columns)]
    for c, column in sums:
        yield f"vec s{c}_{column}(0.0f);"
    yield f"for (int64_t n = 0; n < {problem.images}; ++n) for (int64_t y = top; y < bottom; ++y) {{"
    yield f"const float* from = source + ((n * {problem.inputs} + i) * {height} + y + k - {above}) * {pitch};"
    plane = result_rows * width
    yield f"const float* gradient = G + (n * {problem.outputs} + o) * {plane} + y * {width};"
    for vector in range(vectors.across(width)):
        count, start = vectors.count(width, vector), vector * vectors.width
        yield "{"
        for column in range(columns):
            place = f"from + {start + column}"
            yield f"vec x{column} = {_loaded(place, vectors.width if padded else count, vectors)};"
        for c in range(outputs):
            yield f"{{ vec g = {_loaded(f'gradient + {c * plane + start}', count, vectors)};"
            for column in range(columns):
                yield f"s{c}_{column} = at::vec::fmadd(g, x{column}, s{c}_{column});"
            yield "}"
        yield "}"
    yield "}"
    for c, column in sums:
        yield (
            f"Y[(((o + {c}) * {problem.inputs} + i) * {rows} + k) * {columns} + {column}] = "
            f"{sum_of(f's{c}_{column}')};"
        )


def sum_of(vector: str) -> str:
    """The sum of a vector's elements."""
    return f"at::vec::vec_reduce_all<float>([](vec& a, vec& b) {{ return a + b; }}, {vector})"


def parallel_loop(threads: int) -> str:
    """What stands before a loop whose turns may run side by side."""
    return f"#pragma omp parallel for num_threads({threads})" if threads > 1 else ""
