"""The ways in which the planner rewrites a convolution before it splits it over tiles.

Operands change places; kernel positions become input channels (expand); outputs become output channels
(flatten); dimensions without a kernel join the batch in one long row; depthwise groups are combined. What each
way costs in rearranged operands follows PopLibs ConvModel.cpp; which ways are tried, ConvPlan.cpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tremula.plan.conv_shape import ConvShape, Dimension

#: channels up to which the sliding-window vertex is an option worth keeping
FEW_CHANNELS = 16


@dataclass(frozen=True)
class Pass:
    """What the work is for: decides what lies ready and what has to be rearranged."""

    matmul: bool
    #: forward, input_gradient or weight_gradient
    role: str


@dataclass(frozen=True)
class Transformed:
    """A convolution rewritten."""

    shape: ConvShape
    #: channels before kernel positions or outputs were made channels: only these may be cut over time
    sliceable: tuple[int, int]
    swap: bool = False
    expanded: tuple[int, ...] = ()
    flattened: tuple[int, ...] = ()
    combined: int = 1

    @property
    def words(self) -> str:
        """The rewriting in words, empty if there is none."""
        parts = []
        if self.swap:
            parts.append("operands swapped")
        if self.expanded:
            parts.append(f"kernel dimensions {_listed(self.expanded)} as input channels")
        if self.flattened:
            parts.append(f"output dimensions {_listed(self.flattened)} as channels")
        if self.combined > 1:
            parts.append(f"{self.combined} groups combined")
        return ", ".join(parts)


@dataclass(frozen=True)
class Rearranged:
    """Operands that a plan has to bring into its own order, and outputs that it has to bring back."""

    inputs: bool
    weights: bool
    output: bool
    #: only the order of channels on each tile changes
    output_regrouped: bool


def _listed(dims: Iterable[int]) -> str:
    return ", ".join(str(d) for d in sorted(dims))


def _subsets(items: list[int]) -> Iterator[tuple[int, ...]]:
    for count in range(len(items) + 1):
        yield from itertools.combinations(items, count)


def _replaced(shape: ConvShape, new: dict[int, Dimension]) -> tuple[Dimension, ...]:
    return tuple(new.get(i, d) for i, d in enumerate(shape.dimensions))


def deferred_dilation(shape: ConvShape) -> ConvShape:
    """Zeros between inputs that meet a kernel of one position are put between the outputs afterwards."""
    new = {
        i: replace(d, spread=1)
        for i, d in enumerate(shape.dimensions)
        if d.spread > 1 and d.window == 1 and d.stride == 1 and d.before == 0 and d.after == 0
    }
    return replace(shape, dimensions=_replaced(shape, new))


def expand(shape: ConvShape, dims: tuple[int, ...]) -> ConvShape:
    """Kernel positions of `dims` become input channels."""
    channels = shape.in_channels
    new = {}
    for i in dims:
        channels *= shape.dimensions[i].kernel
        new[i] = Dimension(shape.dimensions[i].out)
    return replace(shape, in_channels=channels, dimensions=_replaced(shape, new))


def flatten_outputs(shape: ConvShape, dims: tuple[int, ...]) -> ConvShape:
    """Outputs of `dims` become output channels, all inputs of them input channels."""
    ins, outs = shape.in_channels, shape.out_channels
    for i in dims:
        ins *= shape.dimensions[i].field
        outs *= shape.dimensions[i].out
    new = {i: Dimension(1) for i in dims}
    return replace(shape, in_channels=ins, out_channels=outs, dimensions=_replaced(shape, new))


def join_plain(shape: ConvShape) -> ConvShape:
    """Batch and dimensions without kernel, stride and padding become one row."""
    plain = [i for i, d in enumerate(shape.dimensions) if d.plain]
    if not plain:
        return shape
    length = shape.batch
    for i in plain:
        length *= shape.dimensions[i].field
    new = {i: Dimension(1) for i in plain}
    new[plain[-1]] = Dimension(length)
    return replace(shape, batch=1, dimensions=_replaced(shape, new))


def combine(shape: ConvShape, factor: int) -> ConvShape:
    """`factor` groups become one with as many times the channels, most of them zero weights."""
    return replace(
        shape,
        groups=-(-shape.groups // factor),
        in_channels=shape.in_channels * factor,
        out_channels=shape.out_channels * factor,
    )


def combining_factors(shape: ConvShape, dtype: str) -> list[int]:
    """Groups worth combining: those of one channel (or two halves), up to the engine's width."""
    widths = {"fp32": (2, 8), "fp16": (4, 16)}
    ins = shape.in_channels
    if dtype not in widths or shape.groups == 1 or ins > (1 if dtype == "fp32" else 2):
        return [1]
    least, most = (width // ins for width in widths[dtype])
    factors = [1]
    while least <= most:
        factors.append(least)
        least *= 2
    return factors


def transformed(shape: ConvShape, use: Pass, dtype: str) -> Iterator[Transformed]:
    """All ways that are worth a search."""
    start = deferred_dilation(shape)
    for swap in (True, False) if use.matmul else (False, True):
        base = start.swapped() if swap else start
        worth = [i for i, d in enumerate(base.dimensions) if not d.plain and d.field >= d.kernel]
        for expanded in _subsets(worth):
            wide = expand(base, expanded)
            outer = [
                i
                for i, d in enumerate(wide.dimensions)
                if d.out > 1 and d.field <= d.kernel and i not in expanded
            ]
            for flattened in _subsets(outer):
                flat = join_plain(flatten_outputs(wide, flattened))
                for factor in combining_factors(flat, dtype):
                    final = combine(flat, factor) if factor > 1 else flat
                    yield Transformed(
                        final, (base.in_channels, base.out_channels), swap, expanded, flattened, factor
                    )


def rearranged(way: Transformed, use: Pass, in_group: int, out_group: int, preferred: int) -> Rearranged:
    """Which operands a plan has to rearrange.

    `preferred` is the grouping of channels that the next layer is assumed to want.
    """
    shape = way.shape
    mismatch = way.swap != use.matmul
    combined = way.combined > 1
    weight_update = not use.matmul and use.role == "weight_gradient"
    pad_in = shape.in_channels % in_group != 0
    pad_out = shape.out_channels % out_group != 0
    common = weight_update or bool(way.expanded) or mismatch or combined or pad_in
    gradient = use.matmul and use.role in ("input_gradient", "weight_gradient")
    out = way.swap != (use.matmul or weight_update) or bool(way.flattened) or combined or pad_out
    out = out or (use.matmul and use.role == "weight_gradient")
    # the input gradient of a convolution reads its weights transposed and mirrored
    transposed = not use.matmul and use.role == "input_gradient"
    return Rearranged(
        inputs=common or gradient or (transposed and way.swap),
        weights=common or bool(way.flattened) or pad_out or (transposed and not way.swap),
        output=out,
        output_regrouped=not use.matmul and out_group != preferred,
    )


def worthwhile(shape: ConvShape, use: Pass, dtype: str) -> list[Transformed]:
    """The ways of `transformed` without those that another way to the same shape makes superfluous.

    Such another way rearranges nothing more and may cut as many channels over time.
    """
    kept: dict[ConvShape, list[tuple[tuple[int, ...], Transformed]]] = {}
    for way in transformed(shape, use, dtype):
        order = rearranged(way, use, 1, 1, 1)
        # the sliding window, for few channels, does not do swapped operands
        window = (
            way.swap and not use.matmul and min(way.shape.in_channels, way.shape.out_channels) <= FEW_CHANNELS
        )
        burden = (order.inputs, order.weights, order.output, window, -way.sliceable[0], -way.sliceable[1])
        rivals = kept.setdefault(way.shape, [])
        if any(
            all(theirs <= mine for theirs, mine in zip(other, burden, strict=True)) for other, _ in rivals
        ):
            continue
        rivals[:] = [
            (other, rival)
            for other, rival in rivals
            if not all(mine <= theirs for theirs, mine in zip(other, burden, strict=True))
        ]
        rivals.append((burden, way))
    return [way for rivals in kept.values() for _, way in rivals]
