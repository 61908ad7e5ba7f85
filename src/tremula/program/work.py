"""What is to be done, in the words of the planners: shapes and types, no framework.

Each class is one kind of work that one planner costs. All are frozen and hashable: equal work has one
plan. Types are named by short strings: fp32, fp16, fp8, int32, bool ...
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MatMul:
    """`groups` products of (rows x inner) by (inner x columns)."""

    rows: int
    inner: int
    columns: int
    groups: int = 1
    dtype: str = "fp32"
    partials: str = "fp32"
    #: share of the tile's memory that temporaries may take
    proportion: float = 0.6
    #: forward, input_gradient or weight_gradient
    role: str = "forward"
    #: operands whose inner extent does not lie together: left, right, both or none of them (products of activations)
    crossed: str = ""


@dataclass(frozen=True)
class Convolution:
    """A convolution of any number of dimensions; a gradient is one of its own with other extents."""

    batch: int
    in_channels: int  # per group
    out_channels: int  # per group
    field: tuple[int, ...]  # the input's
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]  # before and after; negative cuts off
    dilation: tuple[int, ...]  # of the kernel
    input_dilation: tuple[int, ...]  # zeros between inputs: strides of the forward pass in its gradients
    groups: int = 1
    dtype: str = "fp32"
    partials: str = "fp32"
    proportion: float = 0.6
    role: str = "forward"

    @property
    def output_field(self) -> tuple[int, ...]:
        """Extents of the output."""
        return tuple(
            ((i - 1) * u + 1 + before + after - ((k - 1) * d + 1)) // s + 1
            for i, u, (before, after), k, d, s in zip(
                self.field, self.input_dilation, self.padding, self.kernel, self.dilation, self.stride,
                strict=True,
            )
        )  # fmt: skip


@dataclass(frozen=True)
class SparseMatMul:
    """A sparse (rows x inner) matrix of blocks of block x block by a dense (inner x columns)."""

    rows: int
    inner: int
    columns: int
    density: float
    block: int = 1
    dtype: str = "fp32"
    partials: str = "fp32"
    #: whether the pattern may change from step to step
    dynamic: bool = False
    proportion: float = 0.6


@dataclass(frozen=True)
class Elementwise:
    """One pass over `elements`. `operation` is a name of the cycle table, or several joined by '+': fused."""

    operation: str
    elements: int
    dtype: str = "fp32"
    operands: int = 1
    #: elements of the operand that is repeated, None if all have the same shape
    broadcast_elements: int | None = None
    #: whether the repeated operand runs along the innermost dimension
    broadcast_inner: bool = False
    output_dtype: str | None = None
    in_place: bool = False


@dataclass(frozen=True)
class Cast:
    """A change of type."""

    elements: int
    dtype: str
    output_dtype: str


@dataclass(frozen=True)
class Reduction:
    """Of an array (outer, reduced, inner) the middle is reduced."""

    outer: int
    reduced: int
    inner: int
    dtype: str = "fp32"
    operation: str = "add"  # add, square_add, mul, max, min, and, or, log_add, argmax ...
    output_dtype: str | None = None


@dataclass(frozen=True)
class Softmax:
    """Over rows of `columns` elements."""

    rows: int
    columns: int
    dtype: str = "fp32"
    logarithm: bool = False
    gradient: bool = False


@dataclass(frozen=True)
class Norm:
    """Statistics over groups of elements, then scale and shift. `kind`: batch, group, layer, instance."""

    kind: str
    #: elements per statistic, and how many statistics
    reduced: int
    statistics: int
    #: elements of scale and of shift, 0 without them
    parameters: int
    dtype: str = "fp32"
    training: bool = True
    gradient: bool = False


@dataclass(frozen=True)
class Pool:
    """`kind`: max, average, sum."""

    kind: str
    batch: int
    channels: int
    field: tuple[int, ...]  # the input's
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str = "fp32"
    gradient: bool = False


@dataclass(frozen=True)
class Gather:
    """`lookups` rows of `width` elements out of a table of `entries` rows."""

    entries: int
    width: int
    lookups: int
    dtype: str = "fp32"
    proportion: float = 0.6


@dataclass(frozen=True)
class Scatter:
    """`updates` rows of `width` elements into a table; `operation`: add, set, max."""

    entries: int
    width: int
    updates: int
    dtype: str = "fp32"
    operation: str = "add"
    proportion: float = 0.6


@dataclass(frozen=True)
class Recurrent:
    """One layer and direction over a sequence. `kind`: lstm, gru, rnn."""

    kind: str
    steps: int
    batch: int
    inputs: int
    hidden: int
    dtype: str = "fp32"
    partials: str = "fp32"
    proportion: float = 0.6
    gradient: bool = False


@dataclass(frozen=True)
class Random:
    """`kind`: uniform, normal, truncated_normal, bernoulli, dropout."""

    kind: str
    elements: int
    dtype: str = "fp32"


@dataclass(frozen=True)
class Copy:
    """Elements that come to lie elsewhere, in pieces of `contiguous` elements."""

    elements: int
    dtype: str = "fp32"
    contiguous: int = 1
    #: whether data changes tiles, or only its place on a tile
    between_tiles: bool = True


@dataclass(frozen=True)
class Fill:
    """A constant written."""

    elements: int
    dtype: str = "fp32"


@dataclass(frozen=True)
class Sort:
    """Rows sorted; with `k`, the k largest of each."""

    rows: int
    columns: int
    dtype: str = "fp32"
    k: int | None = None


@dataclass(frozen=True)
class Scan:
    """A running sum, product or maximum along rows."""

    rows: int
    columns: int
    dtype: str = "fp32"


@dataclass(frozen=True)
class Stencil:
    """A vertex of the user's over a grid cut into blocks, one per tile, with the halo exchanged before it."""

    grid: tuple[int, ...]
    #: points that a neighbourhood reaches to in each direction
    radius: int
    #: points of the neighbourhood, the centre included
    points: int
    #: values at each grid point
    values: int = 1
    dtype: str = "fp32"
    #: elements that one instruction of the user's vertex handles
    vector: int = 1
    #: cycles of one worker per vector of results
    cycles_per_vector: float | None = None
    #: the smallest block that a tile may be given, in grid points of each dimension
    smallest_block: tuple[int, ...] | None = None
    ipus: int = 1
    #: additions and multiplications for one result; None: a sum over the points with two coefficients
    flops_per_value: float | None = None
    #: how the grid is cut: blocks (near-square), factors (all tiles, least surface), best (fewest cycles);
    #: auto: blocks in up to two dimensions, factors in more, as published codes do
    partition: str = "auto"
    #: addresses that the user's vertex loads anew for each vector: of rows that it keeps in no register
    address_loads: int = 0
    #: the vertex is given the halo as vectors of their own, not in the same rows as its part of the block
    halos_apart: bool = False
    #: each vertex is given every row as a vector of its own: a pointer and a length for each
    row_edges: bool = False
    #: further values of a point that the vertex reads at that point alone: earlier steps, coefficients
    own_fields: int = 0
    #: blocks of the vertices begin beside the blocks that lie on the tiles, by less than the radius: no row that a
    #: vertex reads or writes lies on its tile as a whole
    shifted: bool = False
    #: sets of vertices between which the program alternates: two meshes take two, three time levels three
    compute_sets: int = 1


@dataclass(frozen=True)
class Unknown:
    """An op that no planner knows: costed by what it reads and writes."""

    operation: str
    read_elements: int
    written_elements: int
    dtype: str = "fp32"


Work = (
    MatMul | Convolution | SparseMatMul | Elementwise | Cast | Reduction | Softmax | Norm | Pool | Gather
    | Scatter | Recurrent | Random | Copy | Fill | Sort | Scan | Stencil | Unknown
)  # fmt: skip

#: work with a share of memory for its temporaries
PLANNED = (MatMul, Convolution, SparseMatMul, Gather, Scatter, Recurrent)
