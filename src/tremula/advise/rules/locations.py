"""Where the optimizer's state and gradient accumulators live: on tiles, in streaming memory, shared out among replicas.

Traffic with streaming memory and the collectives that go with sharding follow schedule/replicas.py; tensors of fewer
than 8,192 elements stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from tremula.advise.advice import Change
from tremula.advise.rules.applied import deployed
from tremula.estimate.estimate import Estimate
from tremula.memory.categories import Category
from tremula.schedule.deployment import Location
from tremula.study.case import Case, Study
from tremula.study.dialect import Dialect

#: share of the bytes of an IPU that a kind of tensor must take to be worth moving
_WORTH = 0.02


def optimizer_state(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """State off the chip, sharded over replicas, or both."""
    yield from _moved(
        study.subject.dialect, found, "optimizer_state", "the optimizer's state", "once per weight update"
    )


def accumulators(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Gradient accumulators off the chip."""
    yield from _moved(
        study.subject.dialect, found, "accumulators", "gradient accumulators", "for every micro-batch"
    )


def _moved(
    dialect: Dialect,
    found: Estimate,
    tensors: Literal["optimizer_state", "accumulators"],
    what: str,
    when: str,
) -> Iterable[Change]:
    location: Location = getattr(found.deployment, tensors)
    category = Category.ACCUMULATORS if tensors == "accumulators" else Category.OPTIMIZER_STATE
    sizes = found.memory.fullest.by_category
    if not found.training or sizes.get(category, 0) < _WORTH * sum(sizes.values()):
        return
    several = found.loops.replicas > 1 and tensors == "optimizer_state"
    for on_chip, sharded in ((True, True), (False, False), (False, True)):
        changed = replace(location, on_chip=on_chip, sharded=sharded)
        if (sharded and not several) or changed == location or (not location.on_chip and on_chip):
            continue
        place = "in streaming memory" if not on_chip else "on the chip"
        shared = ", a part on each replica" if sharded else ""
        yield Change(
            rule=f"{category.value} {'sharded' if on_chip else 'off chip'}",
            title=f"Keep {what} {place}{shared}",
            why=f"On IPU {found.memory.fullest.ipu}, {sizes[category] / sum(sizes.values()):.0%} of all bytes are "
            f"{category.value}.",
            code=dialect.location(tensors, changed),
            cost=(
                f"They are read and written back {when}."
                if not on_chip
                else "New weights are gathered at each update."
            ),
            apply=deployed(**{tensors: changed}),
            sets=frozenset({tensors}),
        )
