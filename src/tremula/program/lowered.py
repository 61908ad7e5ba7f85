"""What lowering gives: for every op of a program its work, or the reason why there is none.

`kind` says what becomes of an op on the device:

- compute: arithmetic by tiles; copy: data that comes to lie elsewhere, zeros and constants written included;
- view: another way to look at a tensor, nothing moves; hint: an annotation or an allocation, nothing happens;
- constant: computed once by the compiler, for it depends on no input of the graph;
- fused: part of another op's pass over the data, named by `fused_into`;
- host: the host does it while the device waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tremula.program.work import Work

Kind = Literal["compute", "copy", "view", "hint", "constant", "fused", "host"]

#: share of a tile's memory that the temporaries of a product may take, unless said otherwise
DEFAULT_PROPORTION = 0.6


@dataclass(frozen=True)
class LoweringSettings:
    """What the user's device options say about work; attributes on an op come before them."""

    #: type of partial sums in products of fp16 numbers
    partials: str = "fp32"
    #: the same for convolutions, None: as for matrix products
    convolution_partials: str | None = None
    #: share of memory for the temporaries of a product, by IPU (-1: all others), or a function of the IPU
    proportions: Mapping[int, float] | Callable[[int], float] = field(
        default_factory=lambda: {-1: DEFAULT_PROPORTION}
    )

    def proportion(self, ipu: int) -> float:
        """Share of memory for the temporaries of a product on IPU `ipu`."""
        if callable(self.proportions):
            return self.proportions(ipu)
        return self.proportions.get(ipu, self.proportions.get(-1, DEFAULT_PROPORTION))


@dataclass(frozen=True)
class Lowered:
    """What becomes of one op."""

    works: tuple[Work, ...]
    kind: Kind
    #: tensors whose contents are read; for a fused pass, those of all its ops that come from outside of it
    reads: tuple[str, ...] = ()
    #: for each output the tensor whose memory it takes over, None where it has memory of its own
    shares: tuple[str | None, ...] = ()
    #: the op that does the work of this one as well
    fused_into: str | None = None
    #: whether the outputs are ever in memory; what only exists within a fused pass is not
    stored: bool = True
    #: no planner knows this op: its cost is the stated fallback
    unknown: bool = False
