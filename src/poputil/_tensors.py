"""Copies, broadcasts and changes of shape, names of vertex types, groupings in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from poplar import Graph, Target, Tensor
from poplar._enums import TensorCloneMethod
from poplar._tensor import as_tensor, concat
from poplar.program import Sequence as Program
from tremula.frontends.poplar.errors import TypeMismatch
from tremula.frontends.poplar.graph.rearrange import moved, reshaped_part
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import placements
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.program.copies import make_copy
from tremula.frontends.poplar.types import FLOAT, HALF, Type

UNLESS_ALIASES = TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES


def duplicate(
    graph: Graph, t: Tensor, prog: Program, debug: Any = "", method: TensorCloneMethod = UNLESS_ALIASES
) -> Tensor:
    """A copy of a tensor."""
    made = graph.clone(t, str(debug), method)
    source, target = t.flatten(), made.flatten()
    if made.has_aliases():
        _, first = np.unique(target.addresses(), return_index=True)
        source, target = (
            each.__class__(graph, each.type, first.shape, 0, (), each.addresses()[first])
            for each in (source, target)
        )
    prog.add(make_copy(source, target, name=str(debug)))
    return made


def cloneN(
    graph: Graph, t: Tensor, N: int, debug: Any = "", method: TensorCloneMethod = UNLESS_ALIASES
) -> Tensor:
    """N clones, concatenated in a new first dimension."""
    return concat([graph.clone(t, str(debug), method).expand([0]) for _ in range(N)], 0)


def expandToMatchRanks(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both tensors with as many dimensions as the larger one. C++ changes its arguments instead."""
    rank = max(a.rank, b.rank)
    return a.expand([0] * (rank - a.rank)), b.expand([0] * (rank - b.rank))


def broadcastToMatch(a: Tensor, *others: Any) -> Any:
    """`broadcastToMatch(a, shape)`: the tensor repeated to a shape; `broadcastToMatch(a, b[, c])`: all tensors repeated
    to one shape, as a tuple. C++ changes its arguments instead."""
    if len(others) == 1 and not isinstance(others[0], View):
        return _repeated(a, tuple(int(each) for each in others[0]))
    tensors = (a, *others)
    try:
        shape = np.broadcast_shapes(*(tuple(each.shape) for each in tensors))
    except ValueError:
        shapes = [list(each.shape) for each in tensors]
        raise PoplibsError(
            f"poputil::broadcastToMatch: shapes {shapes} cannot be broadcast together"
        ) from None
    return tuple(_repeated(each, shape) for each in tensors)


def _repeated(view: Tensor, shape: tuple[int, ...]) -> Tensor:
    if view.rank > len(shape):
        raise PoplibsError(f"a tensor of shape {list(view.shape)} cannot be broadcast to {list(shape)}")
    view = view.expand([0] * (len(shape) - view.rank))
    for dim, length in enumerate(shape):
        if view.shape[dim] == length:
            continue
        if view.shape[dim] != 1:
            raise PoplibsError(f"a tensor of shape {list(view.shape)} cannot be broadcast to {list(shape)}")
        view = view.broadcast(length, dim)
    return view


def canBroadcastToMatch(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors can be broadcast together."""
    return all(
        one == other or 1 in (one, other) for one, other in zip(a.shape[::-1], b.shape[::-1], strict=False)
    )


def factorDims(t: Tensor, factors: Sequence[int], startDim: int = 0) -> Tensor:
    """Split dimensions by factors. The quotients come first, then the factors."""
    end = startDim + len(factors)
    for length, factor in zip(t.shape[startDim:end], factors, strict=True):
        if length % factor:
            raise PoplibsError(f"poputil::factorDims: {length} elements are not a multiple of {factor}")
    pairs = [each for length, factor in zip(t.shape[startDim:end], factors, strict=True)
             for each in (length // factor, factor)]  # fmt: skip
    split = reshaped_part(t, startDim, end, pairs)
    count = len(factors)
    sources = [startDim + 2 * place for place in range(count)] + [startDim + 2 * p + 1 for p in range(count)]
    return moved(split, sources, list(range(startDim, startDim + 2 * count)))


def unfactorDims(t: Tensor, numDims: int, startDim: int = 0) -> Tensor:
    """The opposite of `factorDims`."""
    sources = list(range(startDim, startDim + 2 * numDims))
    targets = [startDim + 2 * place for place in range(numDims)] + [
        startDim + 2 * p + 1 for p in range(numDims)
    ]
    apart = moved(t, sources, targets)
    shape = apart.shape[startDim : startDim + 2 * numDims]
    joined = [shape[2 * place] * shape[2 * place + 1] for place in range(numDims)]
    return reshaped_part(apart, startDim, startDim + 2 * numDims, joined)


def unflattenIndex(shape: Sequence[int], index: int) -> list[int]:
    """The indices of an element of a flattened tensor."""
    return [int(each) for each in np.unravel_index(int(index), tuple(shape))]


def flattenIndex(shape: Sequence[int], indices: Sequence[int]) -> int:
    """The index of an element in the flattened tensor."""
    return int(np.ravel_multi_index(tuple(indices), tuple(shape)))


def castToDeviceHalfValue(target: Target, input: float) -> float:
    """A number rounded to half."""
    with np.errstate(over="ignore"):
        return float(np.float16(np.float32(input)))


def checkAccuracyWhenCast(
    target: Target, input: float, inputType: Type, outputType: Type, tolerance: float
) -> bool:
    """Whether a cast from float to half keeps the value up to a relative tolerance. A cast from half to float always
    does."""
    if (inputType, outputType) == (HALF, FLOAT):
        return True
    if (inputType, outputType) != (FLOAT, HALF):
        raise PoplibsError(
            f"the accuracy of a cast is that of float and half, not of {inputType} to {outputType}"
        )
    given = float(np.float32(input))
    return abs(given) * tolerance > abs(castToDeviceHalfValue(target, given) - given)


def templateVertex(name: str, *parameters: Any) -> str:
    """The name of a vertex type with its template parameters: types, booleans, numbers, enumerations or texts."""
    return f"{name}<{','.join(_parameter(each) for each in parameters)}>" if parameters else name


def _parameter(value: Any) -> str:
    if isinstance(value, Type):
        return value.label
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return f"{_namespace(type(value))}{type(value).__name__}::{value.name}"
    if isinstance(value, int | np.integer | str):
        return str(value)
    if isinstance(value, float):
        return f"{value:f}"
    raise TypeMismatch(f"{value!r} is not a parameter of a vertex type")


def _namespace(kind: type) -> str:
    """The C++ namespace of one of our enumerations; those of users have none."""
    parts = kind.__module__.split(".")
    if parts[0] == "tremula":
        library = next((each for each in ("popops", "popnn", "poplin") if each in parts), "")
        inner = "expr::" if kind.__name__ in ("UnaryOpType", "BinaryOpType", "TernaryOpType") else ""
        return f"{library}::{inner}" if library else ""
    return f"{parts[0]}::" if parts[0] in ("popops", "popnn", "poplin", "poplar") else ""


def detectInnermostGrouping(graph: Graph, t: Tensor) -> int:
    """The number of elements of the innermost dimension that are contiguous in memory."""
    return placements.innermost_grouping(t)


def detectDimGroupings(graph: Graph, t: Tensor) -> list[tuple[int, int]]:
    """The dimensions whose elements are contiguous in memory, with their group sizes; the innermost in memory first."""
    return placements.dimension_groupings(t)


def createPartitionableTensor(
    graph: Graph, type: Type, shape: Sequence[int], nPartitions: Sequence[int], debug: Any = ""
) -> Tensor:
    """A tensor in which each part of a grid is contiguous in memory."""
    return as_tensor(placements.partitionable(graph, type, tuple(shape), tuple(nPartitions), str(debug)))


def iterateTensorPartitions(t: Tensor, nPartitions: Sequence[int], f: Callable[..., Any]) -> None:
    """Call `f(indices, part)` for each part of a grid."""
    grid = placements.ranges(t.shape, nPartitions)
    counts = [
        -(-length // max(1, -(-length // count))) for length, count in zip(t.shape, nPartitions, strict=True)
    ]
    for number, part in zip(np.ndindex(*counts), grid, strict=True):
        view = t
        for dim, (begin, end) in enumerate(part):
            view = view.slice_dimension(begin, end, dim)
        f(list(number), view)


__all__ = [
    "broadcastToMatch", "canBroadcastToMatch", "castToDeviceHalfValue", "checkAccuracyWhenCast", "cloneN",
    "createPartitionableTensor", "detectDimGroupings", "detectInnermostGrouping", "duplicate", "expandToMatchRanks",
    "factorDims", "flattenIndex", "iterateTensorPartitions", "templateVertex", "unfactorDims", "unflattenIndex",
]  # fmt: skip
