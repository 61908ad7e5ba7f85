"""Where the optimizer's state and gradient accumulators live: on tiles, in streaming memory, shared out among replicas.

Traffic with streaming memory and the collectives that go with sharding follow schedule/replicas.py; tensors of fewer
than 8,192 elements stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tremula.advise.advice import Change
from tremula.advise.rules.applied import deployed
from tremula.estimate.estimate import Estimate
from tremula.memory.categories import Category
from tremula.schedule.deployment import Location
from tremula.study.case import Case, Study

#: share of the bytes of an IPU that a kind of tensor must take to be worth moving
_WORTH = 0.02
_SETTINGS = "poptorch.TensorLocationSettings()"


def optimizer_state(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """State off the chip, sharded over replicas, or both."""
    yield from _moved(
        found, Category.OPTIMIZER_STATE, found.deployment.optimizer_state, "optimizer_state", "setOptimizerLocation",
        "The optimizer's state", "once per weight update",
    )  # fmt: skip


def accumulators(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Gradient accumulators off the chip."""
    yield from _moved(
        found, Category.ACCUMULATORS, found.deployment.accumulators, "accumulators", "setAccumulatorLocation",
        "Gradient accumulators", "for every micro-batch", sharding=False,
    )  # fmt: skip


def _moved(
    found: Estimate,
    category: Category,
    location: Location,
    field: str,
    setter: str,
    what: str,
    when: str,
    *,
    sharding: bool = True,
) -> Iterable[Change]:
    sizes = found.memory.fullest.by_category
    if not found.training or sizes.get(category, 0) < _WORTH * sum(sizes.values()):
        return
    several = found.loops.replicas > 1 and sharding
    for on_chip, sharded in ((True, True), (False, False), (False, True)):
        changed = replace(location, on_chip=on_chip, sharded=sharded)
        if (sharded and not several) or changed == location or (not location.on_chip and on_chip):
            continue
        setting = _SETTINGS
        if not on_chip:
            setting += ".useOnChipStorage(False)"
        if sharded:
            setting += ".useReplicatedTensorSharding(True)"
        if location.smallest_elements != Location.smallest_elements:
            setting += f".minElementsForOffChip({location.smallest_elements})"
        place = "in streaming memory" if not on_chip else "on the chip"
        shared = ", a part on each replica" if sharded else ""
        yield Change(
            rule=f"{category.value} {'sharded' if on_chip else 'off chip'}",
            title=f"Keep {what[0].lower()}{what[1:]} {place}{shared}",
            why=f"On IPU {found.memory.fullest.ipu}, {sizes[category] / sum(sizes.values()):.0%} of all bytes are "
            f"{category.value}.",
            code=(f"options.TensorLocations.{setter}({setting})",),
            cost=(
                f"They are read and written back {when}."
                if not on_chip
                else "New weights are gathered at each update."
            ),
            apply=deployed(**{field: changed}),
            sets=frozenset({field}),
        )
