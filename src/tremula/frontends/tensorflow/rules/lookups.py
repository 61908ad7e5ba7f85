"""Rows read from tables and written into them: embeddings, gathers, scatters and segments."""

from __future__ import annotations

import math
from dataclasses import replace

from tremula.frontends.tensorflow.rules.call import Call, Operand
from tremula.lowering.lookups import Rows
from tremula.program.lowered import Lowered
from tremula.program.work import Copy, Elementwise, Fill, Gather, Reduction, Scatter, Work

#: what a scatter does with the rows that are there
_SCATTERS = {"Add": "add", "Sub": "add", "Mul": "add", "Div": "add", "Max": "max", "Min": "max"}


def _operation(name: str) -> str:
    return next((how for word, how in _SCATTERS.items() if name.endswith(word)), "set")


def gather(call: Call) -> Lowered:
    """Gather, GatherV2 and ResourceGather: slices of one dimension, after `batch_dims` that go along."""
    table, index = call.given(0), call.given(1)
    batched = int(call.attribute("batch_dims", 0)) % max(1, len(index.shape) + 1)
    axis = call.known_int(2) if call.type == "GatherV2" else batched
    axis %= max(1, len(table.shape))
    if axis < batched:
        axis = batched
    entries = max(1, table.extent(axis))
    if batched:
        entries *= max(1, math.prod(table.shape[:batched]))
        width = max(1, table.elements // max(1, entries))
    else:
        width = max(1, table.elements // entries)
    return _serial(call, Rows(entries, width, index.elements).gather(table.dtype, call.proportion))


def _serial(call: Call, work: Gather | Scatter) -> Lowered:
    """A table that is looked through in parts, as an embedding with a serialisation factor is."""
    factor = int(call.node.facts.get("serialization_factor", 1) or 1)
    if factor < 2:
        return call.lowered((work,))
    part = replace(work, entries=max(1, math.ceil(work.entries / factor)))
    works: list[Work] = [part] * factor
    if isinstance(work, Gather):
        elements = work.lookups * work.width
        works += [Elementwise("select", elements, work.dtype, operands=3, in_place=True)] * (factor - 1)
    return call.lowered(works)


def gather_nd(call: Call) -> Lowered:
    """GatherNd and ResourceGatherNd: an index of several numbers for each row."""
    rows, parts = _indexed(call.given(0), call.given(1))
    return call.lowered((*_addresses(rows, parts), rows.gather(call.given(0).dtype, call.proportion)))


def _indexed(table: Operand, index: Operand) -> tuple[Rows, int]:
    parts = max(1, index.extent(-1))
    entries = max(1, math.prod(table.shape[:parts]))
    return Rows(entries, max(1, table.elements // entries), index.elements // parts), parts


def _addresses(rows: Rows, parts: int) -> list[Work]:
    """Several numbers are first made one: index * extent + next index."""
    return [Elementwise("mul+add", rows.number, "int32", operands=2)] * (parts - 1)


def scatter_into_variable(call: Call) -> Lowered:
    """ResourceScatterAdd and its like: (variable, indices, updates), in place."""
    table, index = call.given(0), call.given(1)
    if "Nd" in call.type:
        rows, parts = _indexed(table, index)
    else:
        rows, parts = Rows(table.extent(0), table.inner(0), index.elements), 1
    work = rows.scatter(table.dtype, _operation(call.type), call.proportion)
    return call.lowered((*_addresses(rows, parts), work))


def scatter_nd(call: Call) -> Lowered:
    """ScatterNd (indices, updates, shape): zeros, and rows added into them."""
    rows, parts = _indexed(call.output, call.given(0))
    work = rows.scatter(call.output.dtype, "add", call.proportion)
    return call.lowered((Fill(call.output.elements, call.output.dtype), *_addresses(rows, parts), work))


def scatter_into_copy(call: Call) -> Lowered:
    """TensorScatterUpdate and its like: (tensor, indices, updates), on a copy."""
    table = call.given(0)
    rows, parts = _indexed(table, call.given(1))
    work = rows.scatter(table.dtype, _operation(call.type), call.proportion)
    copied = Copy(table.elements, table.dtype, contiguous=max(1, table.extent(-1)), between_tiles=False)
    return call.lowered((copied, *_addresses(rows, parts), work))


def segments(call: Call) -> Lowered:
    """UnsortedSegmentSum, SegmentMax ...: (data, segment of each row), into zeros."""
    data, index, result = call.given(0), call.given(1), call.output
    width = max(1, data.elements // max(1, index.elements))
    rows = Rows(max(1, result.elements // width), width, index.elements)
    operation = "max" if call.type.endswith(("Max", "Min")) else "add"
    works: list[Work] = [
        Fill(result.elements, result.dtype),
        rows.scatter(result.dtype, operation, call.proportion),
    ]
    if call.type.endswith("Mean"):  # counts, and a division by them
        works.append(Rows(rows.entries, 1, rows.number).scatter("int32", "add", call.proportion))
        works.append(
            Elementwise(
                "div", result.elements, result.dtype, 2, broadcast_elements=rows.entries, in_place=True
            )
        )
    return call.lowered(works)


def sparse_segments(call: Call) -> Lowered:
    """SparseSegmentSum and its like: rows looked up and reduced by segment."""
    data, index, result = call.given(0), call.given(1), call.output
    rows = Rows(data.extent(0), data.inner(0), index.elements)
    reduced = max(1, math.ceil(index.elements / max(1, result.extent(0))))
    return call.lowered((
        rows.gather(data.dtype, call.proportion),
        Reduction(result.extent(0), reduced, max(1, rows.width), data.dtype),
    ))  # fmt: skip


def inverted(call: Call) -> Lowered:
    """InvertPermutation: every position goes where the permutation says."""
    result = call.output
    rows = Rows(max(1, result.elements), 1, result.elements)
    return call.lowered((rows.scatter(result.dtype, "set", call.proportion),))


def filled_sparse(call: Call) -> Lowered:
    """SparseToDense (places, shape, values, default): the default everywhere, then the values."""
    result, values = call.output, call.given(2)
    rows = Rows(max(1, result.elements), 1, values.elements)
    return call.lowered((
        Fill(result.elements, result.dtype), rows.scatter(result.dtype, "set", call.proportion)
    ))  # fmt: skip


def one_hot(call: Call) -> Lowered:
    """OneHot: every class compared with the index of its row."""
    index, result = call.given(0), call.output
    work = Elementwise(
        "eq+select", result.elements, result.dtype, operands=2, broadcast_elements=max(1, index.elements)
    )
    return call.lowered((work,))


def stitch(call: Call) -> Lowered:
    """DynamicStitch and its parallel form: rows of several tensors put where their indices say."""
    result = call.output
    entries = max(1, result.extent(0))
    rows = Rows(entries, max(1, result.elements // entries), entries)
    return call.lowered((rows.scatter(result.dtype, "set", call.proportion),))
