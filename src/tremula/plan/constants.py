"""The few constants of the chip model that were fitted to published figures, and what each stands for.

Everything else comes from the chip's file or from formulas with a source. `python -m benchmarks.fidelity --fit`
finds these values anew; docs/accuracy.md says how well they do on figures that were not used.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Fitted constants. 1.0 or 0.0 means: the formulas as they are."""

    #: bytes that an op moves to have its operands where its plan wants them, over the bytes of the operands;
    #: hardly determined, for it moves times by a few per cent
    rearranged_share: float = 0.2
    #: cycles that an op takes in a compiled program beyond its plan, over those of its plan: planners give each op the
    #: layout that suits it best, and do not see copies into and out of code that ops share (folds: 0.035 to 0.09)
    unseen_share: float = 0.07
    #: the same on top for ops of the backward pass: they read results of the forward pass, which lie as their forward
    #: use wants them, and weights in the layout of the forward product (folds: 0.13 to 0.21)
    backward_share: float = 0.21
    #: cycles of control code around each superstep of a compiled program, besides the sync (folds: 125 to 200)
    superstep_cycles: float = 125.0


FITTED = Constants()
