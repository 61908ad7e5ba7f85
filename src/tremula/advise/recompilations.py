"""Shapes that would need another compilation: a program on an IPU is compiled for the shapes of its first call."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tremula.advise.compile_time import CompileTime, minutes
from tremula.errors import Error
from tremula.formatting import ShownAsText, plain

#: shapes (and dtypes, if they are known) of all inputs of one call
Signature = tuple[tuple[tuple[int, ...], str], ...]
#: batches that are looked at by default
MOST_BATCHES = 10_000


@dataclass(frozen=True)
class Recompilations(ShownAsText):
    """What a program's data would make the compiler do."""

    #: distinct signatures in the order in which they come, with the number of batches that have each
    signatures: tuple[tuple[Signature, int], ...]
    batches: int
    #: whether there may be more batches than were looked at
    more: bool
    #: of one compilation
    compile_time: CompileTime | None = None

    @property
    def compilations(self) -> int:
        return max(0, len(self.signatures) - 1)

    @property
    def seconds(self) -> float | None:
        """Predicted seconds of those on hardware."""
        return None if self.compile_time is None else self.compilations * self.compile_time.seconds

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do about it."""
        if not self.compilations:
            return ()
        found = []
        if self.short_last_batch:
            found.append("The last batch is smaller: drop it (drop_last=True in a data loader), or pad it.")
        axes = self.varying
        others = sorted({axis for axis in axes if axis[1] != 0})
        if others:
            named = ", ".join(f"dimension {axis} of input {number}" for number, axis in others[:4])
            longest = max(axes[axis][1] for axis in others)
            found.append(
                f"The length of {named} varies: pad it to one length ({longest} is the longest), or to a few "
                "(buckets), and mask the rest."
            )
        if any(axis[1] == 0 for axis in axes) and not self.short_last_batch:
            found.append("Batch sizes vary: make the data loader return batches of one size.")
        if not found:
            found.append("Give all calls the same number of inputs, with the same dimensions and dtypes.")
        return tuple(found)

    @property
    def varying(self) -> dict[tuple[int, int], tuple[int, int]]:
        """(input, dimension) -> smallest and largest extent, where they differ."""
        first = self.signatures[0][0]
        found = {}
        for number, (shape, _) in enumerate(first):
            shapes = [s[number][0] for s, _ in self.signatures if len(s) == len(first)]
            for axis in range(len(shape)):
                extents = [each[axis] for each in shapes if len(each) == len(shape)]
                if min(extents) != max(extents):
                    found[number, axis] = (min(extents), max(extents))
        return found

    @property
    def short_last_batch(self) -> bool:
        """Whether one batch, the last, is smaller than the others and nothing else differs."""
        if len(self.signatures) != 2 or self.signatures[1][1] != 1 or self.batches < 2:
            return False
        return bool(self.varying) and all(
            axis == 0 and low < high for (_, axis), (low, high) in self.varying.items()
        )

    def __str__(self) -> str:
        looked = f"{self.batches:,} batches{' looked at' if self.more else ''}"
        if not self.compilations:
            return f"{looked}, all of the same shapes: one compilation."
        predicted = "" if self.seconds is None else f", predicted {minutes(self.seconds)} on hardware"
        more = f"{self.compilations} more compilations{predicted}."
        lines = [f"{looked} of {len(self.signatures)} different shapes: {more}"]
        lines += [f"  {count:>6} x {_told(signature)}" for signature, count in self.signatures[:8]]
        if len(self.signatures) > 8:
            lines.append(f"  ... and {len(self.signatures) - 8} more")
        return "\n".join([*lines, *self.advice])

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "batches": self.batches,
            "more": self.more,
            "compilations": self.compilations,
            "seconds": self.seconds,
            "signatures": [
                {"inputs": [[list(shape), dtype] for shape, dtype in signature], "batches": count}
                for signature, count in self.signatures
            ],
            "advice": list(self.advice),
        }


def recompilations(
    batches: Iterable[Any], *, compile_time: CompileTime | None = None, limit: int = MOST_BATCHES
) -> Recompilations:
    """What the shapes of `batches` would make the compiler do.

    Args:
        batches: what the program passes to the wrapped model: a data loader, or any iterable of tensors, nests of
            tensors, or shapes (tuples of whole numbers, or lists of such).
        compile_time: of one compilation, for the cost.
        limit: batches that are looked at at most.

    Raises:
        Error: there is no batch, or something in it is neither a tensor nor a shape.
    """
    taken = iter(batches)
    counts = Counter(map(signature_of, itertools.islice(taken, limit)))
    if not counts:
        raise Error("No batch was given.")
    more = counts.total() == limit and next(taken, None) is not None
    return Recompilations(tuple(counts.items()), counts.total(), more, compile_time)


def signature_of(batch: Any) -> Signature:
    """Shapes and dtypes of one batch."""
    if _is_shape(batch):
        return ((tuple(batch), ""),)
    if isinstance(batch, list | tuple) and batch and all(map(_is_shape, batch)):
        return tuple((tuple(shape), "") for shape in batch)
    tensors = list(_tensors_in(batch))
    if not tensors:
        raise Error(f"A batch must be a tensor, a nest of tensors, or shapes, not a {type(batch).__name__}.")
    return tuple((tuple(tensor.shape), str(tensor.dtype).rpartition(".")[2]) for tensor in tensors)


def _tensors_in(value: Any) -> Iterator[Any]:
    """What has a shape and a dtype, in mappings, lists and tuples."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        yield value
    elif isinstance(value, Mapping):
        yield from (tensor for each in value.values() for tensor in _tensors_in(each))
    elif isinstance(value, list | tuple):
        yield from (tensor for each in value for tensor in _tensors_in(each))


def _is_shape(value: Any) -> bool:
    return (
        isinstance(value, tuple | list)
        and bool(value)
        and all(isinstance(extent, int) and not isinstance(extent, bool) for extent in value)
    )


def _told(signature: Signature) -> str:
    inputs = (f"{dtype} {' x '.join(map(str, shape)) or 'scalar'}".strip() for shape, dtype in signature)
    return plain(", ".join(inputs), 160)
