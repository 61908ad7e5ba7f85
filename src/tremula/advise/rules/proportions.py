"""Memory for temporaries: the share that the planners of products and convolutions may take, by IPU and by op.

Less of it makes the planner take a plan with more, smaller steps. Only products whose best plan needs more than
their share change at all.
"""

from __future__ import annotations

from collections.abc import Iterable

from tremula.advise.advice import CLOSE, Change
from tremula.advise.rules.applied import changed, deployed
from tremula.estimate.estimate import Estimate
from tremula.memory.categories import Category
from tremula.program.op import Op
from tremula.program.work import Convolution, Gather, MatMul, Recurrent, Scatter, SparseMatMul
from tremula.study.case import Case, Study

_LOWER = (0.4, 0.2, 0.1)
_HIGHER = (0.9,)
#: share of the bytes of an IPU that temporaries must take
_WORTH = 0.05
#: below this share of a tile there is room for larger temporaries
_ROOMY = 0.6
_PLANNED = (MatMul, Convolution, SparseMatMul, Gather, Scatter, Recurrent)


def of_ipus(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Another share on the IPUs that are nearly full, or on all if there is room."""
    deployment = found.deployment
    full = [
        ipu.ipu
        for ipu in found.memory.ipus
        if ipu.max_tile_bytes > CLOSE * found.memory.tile_memory_bytes
        and ipu.by_category.get(Category.TEMPORARIES, 0) > _WORTH * ipu.total_bytes
    ]
    everywhere = [ipu.ipu for ipu in found.memory.ipus]
    roomy = found.memory.max_tile_bytes < _ROOMY * found.memory.tile_memory_bytes
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
            why=(
                "Rearranged operands and partial sums of products take room at the fullest moment."
                if full
                else "There is room for larger temporaries, with which some products need fewer steps."
            ),
            code=study.subject.dialect.memory_proportions(shares),
            cost="Products that had better plans with more memory become slower."
            if full
            else "Less room for the rest.",
            apply=deployed(proportions={-1: deployment.proportion(-1), **shares}),
            sets=frozenset({"proportions"}),
        )


def of_the_peak(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """A lower share for the one op at the fullest moment."""
    fullest = found.memory.fullest
    if fullest.max_tile_bytes <= CLOSE * found.memory.tile_memory_bytes:
        return
    op = _op_called(found, fullest.peak.op, fullest.ipu)
    if op is None or not any(isinstance(work, _PLANNED) for work in op.works):
        return
    if not study.subject.is_one_product(op.module):
        return  # a hook on the module's result would not say which op is meant
    where = f" ({op.source})" if op.source is not None else ""
    for share in (0.2, 0.1, 0.05):
        yield Change(
            rule="memory proportion of an op",
            title=f"Let {op.module} take {share:.0%} of tile memory for temporaries",
            why=f"{op.name} of the {fullest.peak.phase} pass{where} runs at the fullest moment of IPU {fullest.ipu}.",
            code=study.subject.dialect.memory_proportion(op.module, share),
            cost="This op becomes slower; all others keep their plans.",
            apply=changed(proportions=(*case.changes.proportions, (op.module, share))),
            sets=frozenset({f"proportion of {op.module}"}),
        )


def _op_called(found: Estimate, name: str, ipu: int) -> Op | None:
    return next((op for op in found.program.ops if op.name == name and op.ipu == ipu), None)
