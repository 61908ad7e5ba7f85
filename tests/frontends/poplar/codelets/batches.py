"""Batches with random data, sizes, offsets and strides, and what they hold afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.codelets.codelet import Batch, Codelet, Edges, Kind, StateVectors


def fill(rng: np.random.Generator, count: int, dtype: Any) -> np.ndarray:
    """Random elements: small whole numbers, or numbers around 0."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.normal(size=count).astype(dtype)
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    return rng.integers(0 if dtype.kind == "u" else -20, 20, count).astype(dtype)


def make(
    codelet: Codelet,
    count: int,
    sizes: Mapping[str, Any],
    rng: np.random.Generator,
    *,
    state: Mapping[str, Any] | None = None,
    accurate: bool = False,
    strided: bool = False,
    dtypes: Mapping[str, Any] | None = None,
) -> Batch:
    """A batch. `sizes` gives the elements of each vertex in a field, one number or one for each; of lists, lists."""
    chunks: list[np.ndarray] = []
    place = 0
    edges: dict[str, Edges] = {}
    states: dict[str, Any] = {}
    for field in codelet.fields.values():
        dtype = (dtypes or {}).get(field.name) or field.type.storage(accurate)
        dtype = np.dtype(dtype)
        if field.kind is Kind.STATE:
            given = (state or {}).get(field.name, 0)
            shape = np.shape(given)
            column = np.zeros((count, *shape[1:]), dtype) if len(shape) > 1 else np.zeros(count, dtype)
            column[...] = given
            states[field.name] = column
            continue
        if field.kind is Kind.STATE_VECTOR:
            each = [np.asarray(value, dtype) for value in (state or {})[field.name]]
            states[field.name] = StateVectors(
                np.concatenate([np.zeros(0, dtype), *each]),
                np.concatenate(([0], np.cumsum([len(value) for value in each]))),
            )
            continue
        first = None
        if field.kind is Kind.SCALAR:
            counts = np.ones(count, np.int64)
        elif field.kind is Kind.VECTOR:
            counts = np.broadcast_to(np.asarray(sizes[field.name], np.int64), (count,)).copy()
        else:
            rows = sizes[field.name]
            rows = [rows] * count if not rows or isinstance(rows[0], int) else rows
            counts = np.array([size for row in rows for size in row], dtype=np.int64)
            first = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
        offsets, strides = np.zeros(len(counts), np.int64), np.ones(len(counts), np.int64)
        item = dtype.itemsize
        for edge, size in enumerate(counts.tolist()):
            gap = int(rng.integers(0, 3)) if strided else 0
            step = int(rng.integers(1, 4)) if strided and field.kind is not Kind.SCALAR else 1
            length = (size - 1) * step + 1 if size else 0
            place = -(-place // 16) * 16 + gap * item
            data = fill(rng, length, dtype)
            offsets[edge], strides[edge] = place, step
            chunks.append((place, data))
            place += data.nbytes
        edges[field.name] = Edges(offsets, counts, strides, dtype, first)
    buffer = np.zeros(place + 64, dtype=np.uint8)
    start = -buffer.ctypes.data % 64
    buffer = buffer[start:]
    for offset, data in chunks:
        buffer[offset : offset + data.nbytes] = data.view(np.uint8)
    return Batch(count, buffer[: max(place, 1)], edges, states, accurate)


def copy(batch: Batch) -> Batch:
    """The same batch in memory of its own."""
    states = {
        name: StateVectors(each.values.copy(), each.first) if isinstance(each, StateVectors) else each.copy()
        for name, each in batch.state.items()
    }
    room = np.zeros(len(batch.buffer) + 64, dtype=np.uint8)
    room = room[-room.ctypes.data % 64 :][: len(batch.buffer)]
    room[...] = batch.buffer
    return Batch(batch.count, room, batch.edges, states, batch.accurate_half, batch.workers)


def values(batch: Batch, field: str) -> list[np.ndarray]:
    """What each edge of a field holds."""
    edges = batch.edges[field]
    item = edges.dtype.itemsize
    found = []
    for offset, count, stride in zip(edges.offsets, edges.counts, edges.strides, strict=True):
        raw = [
            batch.buffer[offset + i * stride * item : offset + i * stride * item + item] for i in range(count)
        ]
        found.append(np.concatenate([np.zeros(0, np.uint8), *raw]).view(edges.dtype))
    return found
