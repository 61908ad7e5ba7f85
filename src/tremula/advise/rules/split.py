"""Over more IPUs: the automatic pipeline split (study/split) where one IPU is too small, or its cuts are uneven.

A pipeline needs as many micro-batches per update as it has stages; accumulation is raised to that, which changes the
global batch. Searches take seconds, so they come last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tremula.advise.advice import Change
from tremula.advise.rules.replicas import system_with
from tremula.estimate.estimate import Estimate
from tremula.program.loops import Loops
from tremula.program.stages import pipeline_stages
from tremula.study.case import Case, Study
from tremula.study.split.search import Budget, find_split, pipelined

_IPUS = (2, 4, 8, 16)
#: how much more than the mean the busiest IPU must have to do
_UNEVEN = 1.08
_BUDGET = Budget(evaluations=24, seconds=20.0)


def over_ipus(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """A pipeline over the fewest IPUs on which the program fits."""
    if found.memory.fits or found.deployment.ipus_per_replica > 1:
        return
    whole = sum(ipu.total_bytes for ipu in found.memory.ipus)
    room = found.chip.memory_bytes
    for ipus in _IPUS:
        if ipus * room < 0.5 * whole:
            continue  # hopeless: twice what there is would not be enough
        yield _searched(study, case, found, ipus)


def moved_cuts(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Other cuts on the same IPUs."""
    pipeline = found.time.pipeline
    if pipeline is None or (pipeline.balance > 1.0 / _UNEVEN and found.memory.fits):
        return
    yield _searched(study, case, found, found.deployment.ipus_per_replica)


def _searched(study: Study, case: Case, found: Estimate, ipus: int) -> Change:
    rule = "pipeline" if found.deployment.ipus_per_replica == 1 else "other cuts"

    def search() -> Change:
        loops = _loops(case.loops, ipus, found.training)
        system = system_with(case.system, loops.replicas * ipus)
        deployment = pipelined(case.deployment, ipus, found.training)
        changed = replace(case, loops=loops, system=system, deployment=deployment, cuts=())
        planner = study.planner(system, deployment)
        split = find_split(
            study.segmented(changed), ipus, deployment, system, planner=planner, budget=_BUDGET
        )
        cuts = split.begins

        def apply(case: Case) -> Case:
            return replace(
                case,
                loops=_loops(case.loops, ipus, found.training),
                system=system_with(case.system, case.loops.replicas * ipus),
                deployment=pipelined(case.deployment, ipus, found.training),
                cuts=cuts,
            )

        return Change(
            rule=rule,
            title=f"Cut the model into {len(cuts) + 1} stages on {ipus} IPUs"
            if rule == "pipeline"
            else f"Cut the model elsewhere: {', '.join(module for module, _ in cuts)}",
            why=split.reason,
            code=split.lines(replace=rule != "pipeline") + split.options_lines(),
            cost=_cost(case.loops, loops, found.training),
            apply=apply,
            sets=frozenset({"layout"}),
        )

    return Change(
        rule=rule,
        title=f"A pipeline over {ipus} IPUs",
        why="",
        code=(),
        cost="",
        apply=lambda case: case,
        sets=frozenset({"layout"}),
        search=search,
    )


def _loops(loops: Loops, ipus: int, training: bool) -> Loops:
    """With as many micro-batches as a pipeline needs whose last stage goes back to the first IPU."""
    needed = pipeline_stages(ipus + 1, training)
    if training:
        return replace(loops, gradient_accumulation=max(loops.gradient_accumulation, needed))
    return replace(loops, device_iterations=max(loops.device_iterations, needed))


def _cost(before: Loops, after: Loops, training: bool) -> str:
    if before == after:
        return "A micro-batch takes longer from one end to the other."
    if training:
        return (
            f"Accumulation rises from {before.gradient_accumulation} to {after.gradient_accumulation}, as the pipeline "
            "needs it, and the global batch with it."
        )
    return f"Device iterations rise from {before.device_iterations} to {after.device_iterations} to fill the pipeline."
