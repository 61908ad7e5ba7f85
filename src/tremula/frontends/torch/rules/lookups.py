"""Rows read from tables and written into them: embeddings, indexing, gather and scatter.

An index that is an expanded column addresses whole rows, which is how graph networks write their scatters;
an index of its own for every element addresses rows of one element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import fx

from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.operand import Operand
from tremula.frontends.torch.rules.products import proportion
from tremula.lowering.lookups import Rows
from tremula.lowering.rearrangement import rearranged
from tremula.program.lowered import Lowered
from tremula.program.work import Copy, Elementwise, Fill, Gather, Reduction, Scatter, Work

_REDUCES = {
    "amax": "max", "amin": "max", "sum": "add", "add": "add", "prod": "add", "multiply": "add", "mean": "add",
}  # fmt: skip


def embedding(call: Call) -> Lowered:
    """embedding: one row per index."""
    table, index = call.tensor("weight"), call.tensor("indices")
    if table is None or index is None:
        return call.unknown()
    return call.lowered((_gather(call, table, Rows(table.extent(0), table.inner(0), index.elements)),))


def embedding_bag(call: Call) -> Lowered:
    """_embedding_bag: rows looked up and reduced, bag by bag."""
    table, index = call.tensor("weight"), call.tensor("indices")
    if table is None or index is None or not call.outputs:
        return call.unknown()
    rows = Rows(table.extent(0), table.inner(0), index.elements)
    bags = max(1, call.output.elements // max(1, rows.width))
    reduce = Reduction(bags, math.ceil(rows.number / bags), rows.width, table.dtype)
    return call.lowered((_gather(call, table, rows), reduce))


def embedding_gradient(call: Call) -> Lowered:
    """The gradient of a table: zeros, and every row's gradient added where it belongs."""
    gradient, index = call.given(0), call.tensor("indices")
    result = call.output
    if index is None:
        return call.unknown()
    rows = Rows(result.extent(0), result.inner(0), index.elements)
    return call.lowered((Fill(result.elements, result.dtype), _scatter(call, gradient.dtype, rows, "add")))


def index_select(call: Call) -> Lowered:
    """index_select: slices of one dimension."""
    table, index = call.given(0), call.tensor("index")
    if index is None:
        return call.unknown()
    entries = table.extent(int(call.argument("dim", 0)))
    rows = Rows(entries, table.elements // max(1, entries), index.elements)
    return call.lowered((_gather(call, table, rows),))


def gather(call: Call) -> Lowered:
    """gather, take_along_dim and take."""
    table, index = call.given(0), call.tensor("index") or call.tensor("indices")
    if index is None:
        return call.unknown()
    return call.lowered((_gather(call, table, _by_element(call, table, index)),))


def index(call: Call) -> Lowered:
    """x[i, :, j] with index tensors."""
    table = call.given(0)
    rows = _by_tensors(call, table, call.argument("indices"))
    if rows is None:
        return call.unknown()
    return call.lowered((*_addresses(call, rows), _gather(call, table, rows)))


def index_put(call: Call) -> Lowered:
    """x[i, :, j] = values, or += with `accumulate`; the gradient of `index` too."""
    table = call.given(0)
    rows = _by_tensors(call, table, call.argument("indices"))
    if rows is None:
        return call.unknown()
    operation = "add" if call.argument("accumulate", False) else "set"
    return call.lowered((
        *_copied(call, table), *_addresses(call, rows), _scatter(call, table.dtype, rows, operation)
    ))  # fmt: skip


def scatter(call: Call) -> Lowered:
    """scatter, scatter_add, scatter_reduce: an index for each element of the source."""
    table, index = call.given(0), call.tensor("index")
    if index is None:
        return call.unknown()
    how = str(call.argument("reduce", "add" if call.name == "scatter_add" else ""))
    rows = _by_element(call, table, index)
    works = [*_copied(call, table), _scatter(call, table.dtype, rows, _REDUCES.get(how, "set"))]
    if how == "mean":  # counts, and a division by them
        works.append(_scatter(call, table.dtype, rows, "add"))
        works.append(Elementwise("div", call.output.elements, table.dtype, operands=2, in_place=True))
    return call.lowered(works)


def index_update(call: Call) -> Lowered:
    """index_add, index_copy, index_fill and index_reduce: slices of one dimension."""
    table, index = call.given(0), call.tensor("index")
    if index is None:
        return call.unknown()
    entries = table.extent(int(call.argument("dim", 0)))
    rows = Rows(entries, table.elements // max(1, entries), index.elements)
    operation = {"index_add": "add", "index_reduce": _REDUCES.get(str(call.argument("reduce")), "add")}
    return call.lowered((
        *_copied(call, table), _scatter(call, table.dtype, rows, operation.get(call.name, "set"))
    ))  # fmt: skip


def other_scatter(call: Call) -> Lowered:
    """torch_scatter's scatter_max and its like: (src, index, dim, ...)."""
    source, index = call.given(0), call.tensor("index") or call.given(1)
    result = call.output
    rows = _by_element(call, result, index)
    operation = "max" if call.name.endswith(("max", "min")) else "add"
    return call.lowered((
        Fill(result.elements, result.dtype), _scatter(call, source.dtype, rows, operation)
    ))  # fmt: skip


def _gather(call: Call, table: Operand, rows: Rows) -> Gather:
    return rows.gather(table.dtype, proportion(call))


def _scatter(call: Call, dtype: str, rows: Rows, operation: str) -> Scatter:
    return rows.scatter(dtype, operation, proportion(call))


def _copied(call: Call, table: Operand) -> list[Work]:
    """An op that is not in place works on a copy."""
    if call.in_place:
        return []
    result = call.output
    return [rearranged(table, result) if table.shape == result.shape else Copy(result.elements, result.dtype)]


def _by_element(call: Call, table: Operand, index: Operand) -> Rows:
    """Rows as wide as the dimensions along which the index is only repeated."""
    dim = int(call.argument("dim", 0)) % max(1, len(index.shape))
    width = 1
    for d in range(len(index.shape) - 1, dim, -1):
        if index.strides[d] != 0 and index.shape[d] > 1:
            break
        width *= index.shape[d]
    width = max(1, width)
    return Rows(max(1, table.elements // width), width, max(0, index.elements // width))


def _by_tensors(call: Call, table: Operand, indices: object) -> Rows | None:
    """What index tensors (None where a dimension is taken whole) address."""
    if not isinstance(indices, Sequence):
        return None
    given = [
        (d, found)
        for d, item in enumerate(indices)
        if isinstance(item, fx.Node) and (found := call.of(item)) is not None
    ]
    if not given or any(o.dtype == "bool" for _, o in given):
        return None
    rank = max(len(o.shape) for _, o in given)
    shapes = [(1,) * (rank - len(o.shape)) + o.shape for _, o in given]
    count = math.prod(max(extents) for extents in zip(*shapes, strict=True))
    entries = math.prod(table.shape[d] for d, _ in given)
    return Rows(entries, table.elements // max(1, entries), count)


def _addresses(call: Call, rows: Rows) -> list[Work]:
    """Several index tensors are first made one: index * extent + next index."""
    indices = call.argument("indices")
    several = sum(isinstance(item, fx.Node) for item in indices) - 1
    return [Elementwise("mul+add", rows.number, "int32", operands=2)] * several


def buckets(call: Call) -> Lowered:
    """bucketize: each value compared with all boundaries, and the hits counted."""
    values = call.tensor("self") or call.given(0)
    boundaries = call.tensor("boundaries") or call.tensor("sorted_sequence") or call.given(-1)
    pairs = values.elements * boundaries.extent(-1)
    return call.lowered((
        Elementwise("gt", pairs, values.dtype, 2, values.elements, output_dtype="bool"),
        Reduction(values.elements, boundaries.extent(-1), 1, "int32"),
    ))  # fmt: skip
