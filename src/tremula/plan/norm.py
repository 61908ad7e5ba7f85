"""Normalisation: mean and power of groups of elements, then scale and shift.

The two statistics are reduced in the same compute sets. Of a batch norm the statistics belong to channels, which
lie innermost; of the others they belong to runs of elements. The passes are those of PopLibs poplin/Norms.cpp; that
known statistics become one factor and one addend is popnn/BatchNorm.cpp. Group norms are taken to pass alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tremula.plan.cost import Cost, Why, in_sequence
from tremula.plan.elementwise import nothing_to_do, with_temporaries
from tremula.program.work import Copy, Elementwise, Norm, Reduction

if TYPE_CHECKING:
    from tremula.plan.planner import Planner

SOURCE = "PopLibs poplin/Norms.cpp, popnn/BatchNorm.cpp"


def plan_norm(work: Norm, planner: Planner) -> Cost:
    """The passes, planned each on its own."""
    if work.reduced * work.statistics <= 0:
        return nothing_to_do("norm")
    passes = _Passes(work, planner)
    if work.gradient:
        parts = passes.gradient()
    elif work.kind == "batch" and not work.training:
        parts = passes.inference()
    else:
        parts = passes.forward()
    direction = "gradient of " if work.gradient else ""
    cost = in_sequence(
        parts,
        Why(
            plan=f"{direction}{work.kind} norm, {work.statistics} statistics over {work.reduced} elements each",
            formula="sum of the passes; mean and power share compute sets",
            source=SOURCE,
        ),
    )
    # whitened elements, and in the gradient their products with it
    copies = 2 if work.gradient else int(work.parameters > 0 and (work.training or work.kind != "batch"))
    return with_temporaries(cost, copies, work.reduced * work.statistics, work.dtype, planner.chip)


class _Passes:
    """The passes of one norm."""

    def __init__(self, work: Norm, planner: Planner) -> None:
        self.work = work
        self.planner = planner
        self.elements = work.reduced * work.statistics
        self.by_channel = work.kind == "batch"

    def forward(self) -> list[Cost]:
        """Statistics, whitening, scale and shift."""
        parts = [self.two_sums(self.work.statistics), self.inverse_deviation(), *self.whiten()]
        if self.work.parameters:
            parts.append(self.with_parameters("mul"))
            parts.append(self.with_parameters("add", in_place=True))
        return parts

    def inference(self) -> list[Cost]:
        """Known statistics are folded into one factor and one addend per channel."""
        small = Elementwise("rsqrt+mul+mul+sub", self.work.statistics, self.work.dtype, operands=4)
        return [
            self.planner.plan(small),
            self.with_statistics("mul"),
            self.with_statistics("add", in_place=True),
        ]

    def gradient(self) -> list[Cost]:
        """Gradients of scale and shift, then of the input."""
        work, plan = self.work, self.planner.plan
        product = Elementwise("mul", self.elements, work.dtype, operands=2)
        parts = self.whiten()
        if work.parameters:
            parts.append(plan(product))
            # scale and shift are reduced over whatever is not theirs
            parts.append(self.two_sums(work.parameters, by_channel=True))
            parts.append(self.with_parameters("mul"))
        if not work.training and work.kind == "batch":
            return [*parts, self.with_statistics("mul", in_place=True)]
        parts.append(plan(product))
        parts.append(self.two_sums(work.statistics))
        parts.append(plan(Copy(self.elements, work.dtype, contiguous=self.elements, between_tiles=False)))
        parts.append(self.with_statistics("mul"))
        parts.append(plan(Elementwise("mul", work.statistics, work.dtype, operands=1, in_place=True)))
        parts.append(self.with_statistics("add", in_place=True))
        parts.append(plan(Elementwise("scaled_add", self.elements, work.dtype, operands=2, in_place=True)))
        parts.append(self.with_statistics("mul", in_place=True))
        return parts

    def whiten(self) -> list[Cost]:
        """The mean subtracted, the deviation divided out."""
        return [self.with_statistics("sub"), self.with_statistics("mul", in_place=True)]

    def two_sums(self, outputs: int, by_channel: bool | None = None) -> Cost:
        """Two reductions of all elements to `outputs` values each, in the same compute sets."""
        reduced = max(1, self.elements // outputs)
        # the same elements twice over, for twice the outputs
        if self.by_channel if by_channel is None else by_channel:
            return self.planner.plan(Reduction(2, reduced, outputs, self.work.dtype, "square_add", "fp32"))
        return self.planner.plan(Reduction(2 * outputs, reduced, 1, self.work.dtype, "square_add", "fp32"))

    def inverse_deviation(self) -> Cost:
        """1 / sqrt(power - mean^2 + epsilon) of each statistic."""
        work = Elementwise(
            "square+sub+add+rsqrt",
            self.work.statistics,
            "fp32",
            operands=2,
            output_dtype=self.work.dtype,
        )
        return self.planner.plan(work)

    def with_statistics(self, operation: str, in_place: bool = False) -> Cost:
        """A pass with one value per statistic."""
        return self._with(operation, self.work.statistics, self.by_channel, in_place)

    def with_parameters(self, operation: str, in_place: bool = False) -> Cost:
        """A pass with one value per element of scale or shift."""
        return self._with(operation, self.work.parameters, True, in_place)

    def _with(self, operation: str, values: int, inner: bool, in_place: bool) -> Cost:
        return self.planner.plan(
            Elementwise(
                operation,
                self.elements,
                self.work.dtype,
                operands=2,
                broadcast_elements=values,
                broadcast_inner=inner,
                in_place=in_place,
            )
        )
