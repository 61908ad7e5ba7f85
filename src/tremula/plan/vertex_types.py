"""Compute sets and vertices of a plan, by the public names of PopLibs.

Nothing is compiled, so this is modelled: which vertex does what a superstep is for is in a table (vertex_types.toml),
and each tile that works has one of them, or one for each of its workers.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from tremula.plan.cost import Cost, Superstep, Why
from tremula.program.work import (
    Cast,
    Convolution,
    Elementwise,
    MatMul,
    Recurrent,
    Reduction,
    SparseMatMul,
    Work,
)

_TYPES = {
    "fp8": "quarter", "fp16": "half", "fp32": "float", "int8": "signed char", "uint8": "unsigned char",
    "int16": "short", "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int", "int64": "long long",
}  # fmt: skip
_PRODUCTS = (MatMul, Convolution, SparseMatMul, Recurrent)
_STAGE = "reduce, stage"


@dataclass(frozen=True)
class Vertices:
    """Vertices of one type on the tiles that work in a superstep."""

    type: str
    count: int
    tiles: int


@dataclass(frozen=True)
class ComputeSet:
    """A superstep as a compute set: what its name ends in, and its vertices."""

    name: str
    vertices: tuple[Vertices, ...]

    @property
    def count(self) -> int:
        """All vertices."""
        return sum(each.count for each in self.vertices)


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads(resources.files("tremula.plan").joinpath("vertex_types.toml").read_text("utf-8"))


def compute_sets(works: Sequence[Work], cost: Cost, workers: int) -> list[ComputeSet]:
    """The compute set of each superstep of the plan of an op that does `works`."""
    products = _products(works, cost.why)
    return [_compute_set(step, works, products, workers) for step in cost.supersteps]


def _compute_set(
    step: Superstep, works: Sequence[Work], products: Iterator[tuple[str, str]], workers: int
) -> ComputeSet:
    table = _table()
    names = _type_names(works, step.name)
    tiles = step.tiles
    if step.name == "multiply":
        found = next(products, None)
        if found is not None:
            return ComputeSet(found[0], (Vertices(_filled(found[1], names), tiles, tiles),))
    entry = table["supersteps"].get(_STAGE if step.name.startswith(_STAGE) else step.name)
    if entry is not None:
        count = tiles * (workers if entry.get("per") == "worker" else 1)
        types = tuple(Vertices(_filled(each, names), count, tiles) for each in entry["vertices"])
        return ComputeSet(entry["compute_set"], types)
    # what is left are element-wise operations, several joined by a plus where they are one pass
    parts = [_elementwise(part, names) for part in step.name.split("+")]
    last = parts[-1][0]
    counts: dict[str, int] = {}
    for _, vertex in parts:
        counts[vertex] = counts.get(vertex, 0) + tiles
    return ComputeSet(last, tuple(Vertices(vertex, count, tiles) for vertex, count in counts.items()))


def _elementwise(operation: str, names: Mapping[str, str]) -> tuple[str, str]:
    """Names of the compute set and the vertex type of an element-wise operation."""
    table = _table()["elementwise"]
    for arity in ("unary", "binary"):
        known = table[f"{arity}_operations"].get(operation)
        if known is not None:
            word, theirs = known
            form = table[arity]
            return form["compute_set"].replace("{W}", word), _filled(form["vertex"], {**names, "V": theirs})
    other = table["others"].get(operation)
    if other is not None:
        return other[0], _filled(other[1], names)
    # no name of PopLibs is known for it: ours, which says so
    return f"Op/{operation}", f"(no PopLibs name) {operation}<{names['T']}>"


def _products(works: Sequence[Work], why: Why) -> Iterator[tuple[str, str]]:
    """Name of the compute set and vertex type of each product of a plan, in order."""
    kinds = _table()["products"]
    done = [work for work in works if isinstance(work, _PRODUCTS)]
    plans = [text for text in _plans(why) if text.startswith(tuple(kinds))]
    for number, text in enumerate(plans):
        entry = next(entry for kind, entry in kinds.items() if text.startswith(kind))
        work = done[min(number, len(done) - 1)] if done else None
        kernel: tuple[int, ...] = work.kernel if isinstance(work, Convolution) else (1,)
        vertex = entry["vertex"]
        if max(kernel, default=1) > 1 and "as input channels" not in text:
            vertex = entry.get("vertex_of_kernels", vertex)
        size = "x".join(map(str, kernel))
        yield f"Conv_{size}/{entry['compute_set']}", vertex


def _plans(why: Why) -> Iterator[str]:
    """Plans of a reason in the order in which they run."""
    if why.parts and ", then " in why.plan:
        for part in why.parts:
            yield from _plans(part)
    else:
        yield why.plan
        for part in why.parts:
            yield from _plans(part)


def _type_names(works: Sequence[Work], step: str) -> dict[str, str]:
    """What T, P and O stand for in the superstep `step` of an op."""
    kinds: tuple[type, ...] = (
        (*_PRODUCTS, Reduction) if step.startswith(("multiply", "reduce")) else (Elementwise, Cast)
    )
    work: Any = next((each for each in works if isinstance(each, kinds)), works[0] if works else None)
    data = getattr(work, "dtype", "fp32")
    partials = getattr(work, "partials", None) or ("fp32" if data in ("fp16", "fp8") else data)
    out = getattr(work, "output_dtype", None) or data
    return {letter: _TYPES.get(name, name) for letter, name in (("T", data), ("P", partials), ("O", out))}


def _filled(template: str, names: Mapping[str, str]) -> str:
    for letter, name in names.items():
        template = template.replace(f"{{{letter}}}", name)
    return template
