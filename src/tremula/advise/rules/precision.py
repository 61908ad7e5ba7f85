"""Shorter numbers: half precision for the model, for partial sums, for gradient accumulators.

What it does to the training itself is not modelled; the cost says what is known.
"""

from __future__ import annotations

from collections.abc import Iterable

from tremula.advise.advice import Change, edited
from tremula.estimate.estimate import Estimate
from tremula.program.work import Convolution, MatMul
from tremula.study.case import Case, Study


def is_half(study: Study, case: Case) -> bool:
    """Whether most weights are in half precision."""
    return (case.variant.precision or study.subject.precision) == "fp16"


def half(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Model and inputs in half precision; with half partial sums as well."""
    if is_half(study, case):
        return
    scaled = ": training needs a loss scale, which is a setting of the optimizer" if found.training else ""
    dialect = study.subject.dialect
    steps = [("half precision", "Use half precision", False)]
    if found.deployment.partials == "fp32":
        steps.append(("half precision and partials", "Use half precision, for partial sums too", True))
    for rule, title, partials in steps:
        yield Change(
            rule=rule,
            title=title,
            why="Matrix products and convolutions do up to four times the work per cycle on half-precision operands. "
            "Weights, activations and transfers need half the bytes.",
            code=(*dialect.half_precision, *(dialect.half_partials if partials else ())),
            cost=f"Values beyond 65504 overflow and small gradients vanish{scaled}.",
            apply=edited(variant={"precision": "fp16"}, deployment={"partials": "fp16"} if partials else {}),
            sets=frozenset({"precision", *(["partials"] if partials else [])}),
        )


def half_partials(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Partial sums of half-precision products in half precision."""
    if found.deployment.partials == "fp16":
        return
    if not any(
        isinstance(work, MatMul | Convolution) and work.dtype == "fp16"
        for op in found.program.ops
        for work in op.works
    ):
        return
    yield Change(
        rule="half partials",
        title="Keep partial sums in half precision",
        why="Products of half-precision numbers run twice as fast when their sums are kept in half precision, and sums "
        "that travel between tiles are half as large.",
        code=study.subject.dialect.half_partials,
        cost="Long sums lose precision; compare the loss of a short run.",
        apply=edited(deployment={"partials": "fp16"}),
        sets=frozenset({"partials"}),
    )


def half_accumulators(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Gradients accumulated and reduced in half precision."""
    if study.subject.accumulator_dtype in (None, "float16") or case.changes.accumulators is not None:
        return
    if found.loops.gradient_accumulation * found.loops.replicas == 1:
        return  # nothing is accumulated
    yield Change(
        rule="half accumulators",
        title="Accumulate gradients in half precision",
        why="Accumulators need half the memory, and replicas exchange half the bytes.",
        code=study.subject.dialect.half_accumulators,
        cost="Small gradients are rounded away when many micro-batches are added; the mean becomes a running one.",
        apply=edited(changes={"accumulators": "float16"}),
        sets=frozenset({"accumulators' type"}),
    )
