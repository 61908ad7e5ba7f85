"""C++ of small matrix products, for compiled code: tiles of sums in registers, and no call into a library. Products of
more than a few million operations are left to the libraries, which divide them for the caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tremula.frontends.torch.execute.direct_convolution import (
    Vectors,
    even_blocks,
    parallel_loop,
    parts,
    sum_of,
)
from tremula.frontends.torch.execute.products import LARGE_PRODUCT_FLOPS

#: smaller ones do not matter
_LEAST_FLOPS = 10_000


@dataclass(frozen=True)
class Product:
    """A product of two matrices, plus a vector to each row or a matrix, by all that its code depends on.

    Attributes:
        rows: of the result.
        inner: columns of the left matrix, rows of the right one.
        columns: of the result.
        left: strides of the left matrix.
        right: strides of the right one.
        added: strides of what is added; None: nothing is.
    """

    rows: int
    inner: int
    columns: int
    left: tuple[int, int]
    right: tuple[int, int]
    added: tuple[int, int] | None = None

    @property
    def flops(self) -> int:
        """Floating-point operations."""
        return 2 * self.rows * self.inner * self.columns

    @property
    def along_columns(self) -> bool:
        """Whether vectors of the right matrix are parts of its rows."""
        return self.right[1] == 1

    @property
    def along_inner(self) -> bool:
        """Whether both matrices have what is multiplied and summed side by side."""
        return self.right[0] == 1 and self.left[1] == 1


def is_direct(product: Product) -> bool:
    """Whether this code is the faster one, and there is code."""
    vectors_fit = product.along_columns or product.along_inner
    added_fits = product.added is None or product.added[1] == 1
    return vectors_fit and added_fits and _LEAST_FLOPS <= product.flops < LARGE_PRODUCT_FLOPS


def product_code(product: Product, vectors: Vectors, *, threads: int) -> str:
    """The body of a function of `A`, `B`, `C` (what is added, if there is something) and `Y`, which is contiguous."""
    code = _along_columns if product.along_columns else _along_inner
    return "\n".join(["using vec = at::vec::Vectorized<float>;", *code(product, vectors, threads)])


def _along_columns(product: Product, vectors: Vectors, threads: int) -> Iterator[str]:
    """Tiles of some rows and some vectors of columns; each step adds a column of `A` times a row of `B`."""
    rows = even_blocks(product.rows, vectors.sums // 2)
    wide = max(1, min(vectors.across(product.columns), vectors.sums // rows)) * vectors.width
    for left, right, width in parts(product.columns, min(wide, product.columns)):
        yield parallel_loop(threads)
        yield f"for (int64_t j = {left}; j < {right}; j += {width}) {{"
        for top, bottom, height in parts(product.rows, rows):
            yield f"for (int64_t i = {top}; i < {bottom}; i += {height}) {{"
            yield from _columns_tile(product, vectors, height, width)
            yield "}"
        yield "}"


def _columns_tile(product: Product, vectors: Vectors, height: int, width: int) -> Iterator[str]:
    counts = [vectors.count(width, vector) for vector in range(vectors.across(width))]

    def part(pointer: str, vector: int) -> str:
        count = "" if counts[vector] == vectors.width else f", {counts[vector]}"
        return f"{pointer} + {vector * vectors.width}{count}"

    for row in range(height):
        for vector in range(len(counts)):
            start = "0.0f"
            if product.added is not None:
                start = f"vec::loadu({part(f'C + (i + {row}) * {product.added[0]} + j', vector)})"
            yield f"vec s{row}_{vector}({start});"
    yield f"for (int64_t k = 0; k < {product.inner}; ++k) {{"
    for vector in range(len(counts)):
        yield f"vec b{vector} = vec::loadu({part(f'B + k * {product.right[0]} + j', vector)});"
    for row in range(height):
        yield f"{{ vec a(A[(i + {row}) * {product.left[0]} + k * {product.left[1]}]);"
        for vector in range(len(counts)):
            yield f"s{row}_{vector} = at::vec::fmadd(a, b{vector}, s{row}_{vector});"
        yield "}"
    yield "}"
    for row in range(height):
        for vector in range(len(counts)):
            yield f"s{row}_{vector}.store({part(f'Y + (i + {row}) * {product.columns} + j', vector)});"


def _along_inner(product: Product, vectors: Vectors, threads: int) -> Iterator[str]:
    """Tiles of some rows and columns, each a vector of sums that are added up at the end."""
    rows = even_blocks(product.rows, 4)
    columns = even_blocks(product.columns, vectors.sums // rows)
    for left, right, width in parts(product.columns, columns):
        yield parallel_loop(threads)
        yield f"for (int64_t j = {left}; j < {right}; j += {width}) {{"
        for top, bottom, height in parts(product.rows, rows):
            yield f"for (int64_t i = {top}; i < {bottom}; i += {height}) {{"
            yield from _inner_tile(product, vectors, height, width)
            yield "}"
        yield "}"


def _inner_tile(product: Product, vectors: Vectors, height: int, width: int) -> Iterator[str]:
    sums = [(row, column) for row in range(height) for column in range(width)]
    for row, column in sums:
        yield f"vec s{row}_{column}(0.0f);"
    whole = product.inner // vectors.width * vectors.width
    if whole:
        yield f"for (int64_t k = 0; k < {whole}; k += {vectors.width}) {{"
        yield from _inner_step(product, height, width, "")
        yield "}"
    if whole < product.inner:
        yield f"{{ constexpr int64_t k = {whole};"
        yield from _inner_step(product, height, width, f", {product.inner - whole}")
        yield "}"
    for row, column in sums:
        start = ""
        if product.added is not None:
            start = f"C[(i + {row}) * {product.added[0]} + j + {column}] + "
        yield f"Y[(i + {row}) * {product.columns} + j + {column}] = {start}{sum_of(f's{row}_{column}')};"


def _inner_step(product: Product, height: int, width: int, count: str) -> Iterator[str]:
    for column in range(width):
        yield f"vec b{column} = vec::loadu(B + (j + {column}) * {product.right[1]} + k{count});"
    for row in range(height):
        yield f"{{ vec a = vec::loadu(A + (i + {row}) * {product.left[0]} + k{count});"
        for column in range(width):
            yield f"s{row}_{column} = at::vec::fmadd(a, b{column}, s{row}_{column});"
        yield "}"
