"""Memory of tiles: where optimizer state and accumulators live, and the share that temporaries of products may take.

Traffic with streaming memory and the collectives of sharding follow schedule/replicas.py; tensors of fewer than 8,192
elements stay where they are. With less room for temporaries a planner takes more, smaller steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from tremula.advise.advice import CLOSE, Change, edited
from tremula.estimate.estimate import Estimate
from tremula.memory.categories import Category
from tremula.program.work import PLANNED
from tremula.schedule.deployment import Location
from tremula.study.case import Case, Study

#: share of the bytes of an IPU that tensors must take to be worth moving, and temporaries to be worth less room
_WORTH_MOVING = 0.02
_WORTH_SHRINKING = 0.05
#: shares of memory for temporaries that are tried
_LOWER = (0.4, 0.2, 0.1)
_HIGHER = (0.9,)
#: below this share of a tile there is room for larger temporaries
_ROOMY = 0.6


def optimizer_state(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """State off the chip, sharded over replicas, or both."""
    return _moved(study, found, "optimizer_state", "the optimizer's state", "once per weight update")


def accumulators(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Gradient accumulators off the chip."""
    return _moved(study, found, "accumulators", "gradient accumulators", "for every micro-batch")


def _moved(
    study: Study, found: Estimate, tensors: Literal["optimizer_state", "accumulators"], what: str, when: str
) -> Iterable[Change]:
    location: Location = getattr(found.deployment, tensors)
    category = Category.ACCUMULATORS if tensors == "accumulators" else Category.OPTIMIZER_STATE
    sizes = found.memory.fullest.by_category
    taken = sizes.get(category, 0) / (sum(sizes.values()) or 1)
    if not found.training or taken < _WORTH_MOVING:
        return
    several = found.loops.replicas > 1 and tensors == "optimizer_state"
    gathered, moved = "New weights are gathered at each update.", f"They are read and written back {when}."
    for on_chip, sharded in ((True, True), (False, False), (False, True)):
        changed = replace(location, on_chip=on_chip, sharded=sharded)
        if (sharded and not several) or changed == location or (not location.on_chip and on_chip):
            continue
        place = "on the chip" if on_chip else "in streaming memory"
        yield Change(
            rule=f"{category.value} {'sharded' if on_chip else 'off chip'}",
            title=f"Keep {what} {place}{', a part on each replica' * sharded}",
            why=f"On IPU {found.memory.fullest.ipu}, {taken:.0%} of all bytes are {category.value}.",
            code=study.subject.dialect.location(tensors, changed),
            cost=gathered if on_chip else moved,
            apply=edited(deployment={tensors: changed}),
            sets=frozenset({tensors}),
        )


def of_ipus(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Another share on the IPUs that are nearly full, or on all if there is room."""
    deployment = found.deployment
    full = [
        ipu.ipu
        for ipu in found.memory.ipus
        if ipu.max_tile_bytes > CLOSE * found.memory.tile_memory_bytes
        and ipu.by_category.get(Category.TEMPORARIES, 0) > _WORTH_SHRINKING * ipu.total_bytes
    ]
    everywhere = [ipu.ipu for ipu in found.memory.ipus]
    roomy = found.memory.max_tile_bytes < _ROOMY * found.memory.tile_memory_bytes
    if full:
        why = "Rearranged operands and partial sums of products use memory at its peak."
        cost = "Products that had better plans with more memory become slower."
    else:
        why = "There is memory for larger temporaries, with which some products need fewer steps."
        cost = "Less memory for everything else."
    for share in _LOWER if full else _HIGHER if roomy else ():
        ipus = [ipu for ipu in full or everywhere if (deployment.proportion(ipu) > share) == bool(full)]
        if not ipus:
            continue
        # a setting replaces what was set before, so all IPUs that differ from the default are named
        shares = {ipu: part for ipu, part in deployment.proportions.items() if ipu >= 0}
        shares |= dict.fromkeys(ipus, share)
        where = "each IPU" if len(ipus) == len(everywhere) > 1 else ", ".join(f"IPU {ipu}" for ipu in ipus)
        yield Change(
            rule="memory proportion",
            title=f"Let temporaries take {share:.0%} of the memory of {where}",
            why=why,
            code=study.subject.dialect.memory_proportions(shares),
            cost=cost,
            apply=edited(deployment={"proportions": {-1: deployment.proportion(-1), **shares}}),
            sets=frozenset({"proportions"}),
        )


def of_the_peak(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """A lower share for the one op at the fullest moment."""
    fullest = found.memory.fullest
    if fullest.max_tile_bytes <= CLOSE * found.memory.tile_memory_bytes:
        return
    op = next((op for op in found.program.ops if (op.name, op.ipu) == (fullest.peak.op, fullest.ipu)), None)
    if op is None or not any(isinstance(work, PLANNED) for work in op.works):
        return
    if not study.subject.is_one_product(op.module):
        return  # a hook on the module's result would not say which op is meant
    where = f" ({op.source})" if op.source is not None else ""
    for share in (0.2, 0.1, 0.05):
        yield Change(
            rule="memory proportion of an op",
            title=f"Let {op.module} take {share:.0%} of tile memory for temporaries",
            why=f"{op.name} of the {fullest.peak.phase} pass{where} runs at the memory peak of IPU {fullest.ipu}.",
            code=study.subject.dialect.memory_proportion(op.module, share),
            cost="This op becomes slower; the others do not change.",
            apply=edited(changes={"proportions": (*case.changes.proportions, (op.module, share))}),
            sets=frozenset({f"proportion of {op.module}"}),
        )
