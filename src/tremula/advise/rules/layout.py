"""More IPUs: replicas of the model, or a pipeline (study/split) where one IPU is too small, or its cuts are uneven.

The global batch stays the same where accumulation can be divided among replicas; a pipeline needs as many
micro-batches as it has stages. Scaling is the weakest part of the chip model's evidence (docs/accuracy.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tremula.advise.advice import Change
from tremula.advise.rules.batches import can_run
from tremula.errors import Error
from tremula.estimate.estimate import Estimate
from tremula.formatting import counted
from tremula.hardware.catalogue import smallest_system
from tremula.hardware.system import System
from tremula.program.loops import Loops
from tremula.program.variant import StageStart
from tremula.study.case import Case, Study
from tremula.study.split.search import Budget, pipelined

#: how many times as many replicas are tried, on so many IPUs at most
_FACTORS = (2, 4, 16)
_MOST_IPUS = 64
#: IPUs of a pipeline that are tried
_IPUS = (2, 4, 8, 16)
#: how much more than the mean the busiest IPU must have to do
_UNEVEN = 1.08
_BUDGET = Budget(evaluations=24, seconds=20.0)


def more_replicas(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Twice, four times and sixteen times as many replicas."""
    if not found.memory.fits:
        return
    for factor in _FACTORS:
        replicas = found.loops.replicas * factor
        ipus = replicas * found.deployment.ipus_per_replica
        if ipus > _MOST_IPUS:
            break
        turns = found.loops.gradient_accumulation
        code = study.subject.dialect.replicas(replicas)
        if found.training and turns % factor == 0 and can_run(study, found, turns // factor):
            turns //= factor
            code += study.subject.dialect.accumulation(turns)
            cost = "The global batch stays the same."
        else:
            cost = (
                f"The global batch becomes {factor} times as large." if found.training else "Latency stays."
            )

        def apply(case: Case, replicas: int = replicas, turns: int = turns) -> Case:
            loops = replace(case.loops, replicas=replicas, gradient_accumulation=turns)
            return replace(
                case,
                loops=loops,
                system=system_with(case.system, replicas * case.deployment.ipus_per_replica),
            )

        yield Change(
            rule="replicas",
            title=f"Run {replicas} replicas on {counted(ipus, 'IPU')}",
            why=f"Replicas work in parallel{' and synchronise once per weight update' * found.training}.",
            code=code,
            cost=cost,
            apply=apply,
            sets=frozenset({"replicas", "accumulation"}),
        )


def system_with(system: System, ipus: int) -> System:
    """`system`, or the smallest of the same chip that has enough IPUs."""
    if system.ipus >= ipus:
        return system
    try:
        return smallest_system(system.chip, ipus)
    except Error as problem:
        raise Error(
            f"{system.name} has {counted(system.ipus, 'IPU')}, but {ipus} are needed: {problem.message}"
        ) from problem


def over_ipus(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """A pipeline over the fewest IPUs on which the program fits."""
    if found.memory.fits or found.deployment.ipus_per_replica > 1:
        return
    whole = sum(ipu.total_bytes for ipu in found.memory.ipus)
    for ipus in _IPUS:
        if ipus * found.chip.memory_bytes >= 0.5 * whole:  # else twice what there is would not be enough
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
        def apply(case: Case, cuts: tuple[StageStart, ...] | None = None) -> Case:
            # a last stage may go back to the first IPU: one more than IPUs, as long as the cuts are not known
            stages = ipus + 1 if cuts is None else len(cuts) + 1
            return replace(
                case,
                loops=_loops(study, case.loops, stages, found.training),
                system=system_with(case.system, case.loops.replicas * ipus),
                deployment=pipelined(case.deployment, ipus, found.training),
                cuts=cuts or (),
            )

        split = study.split(apply(case), ipus, _BUDGET)
        cuts = split.begins
        changed = apply(case, cuts)
        split = split.as_in(study.estimate(changed))
        return Change(
            rule=rule,
            title=f"Cut the model into {len(cuts) + 1} stages on {ipus} IPUs"
            if rule == "pipeline"
            else f"Cut the model elsewhere: {', '.join(module for module, _ in cuts)}",
            why=split.reason,
            code=split.lines(replace=rule != "pipeline") + split.options_lines(),
            cost=_cost(case.loops, changed.loops, found.training),
            apply=lambda case: apply(case, cuts),
            sets=frozenset({"layout"}),
        )

    return Change(rule=rule, title=f"A pipeline over {ipus} IPUs", sets=frozenset({"layout"}), search=search)


def _loops(study: Study, loops: Loops, stages: int, training: bool) -> Loops:
    """With as many micro-batches as a pipeline of so many stages needs."""
    dialect = study.subject.dialect
    if training:
        turns = dialect.micro_batches(loops.gradient_accumulation, stages, training)
        return replace(loops, gradient_accumulation=turns)
    return replace(loops, device_iterations=dialect.micro_batches(loops.device_iterations, stages, training))


def _cost(before: Loops, after: Loops, training: bool) -> str:
    if before == after:
        return "The latency of a micro-batch grows."
    if training:
        return (
            f"The pipeline needs accumulation raised from {before.gradient_accumulation} to "
            f"{after.gradient_accumulation}, which also increases the global batch."
        )
    return f"Device iterations rise from {before.device_iterations} to {after.device_iterations} to fill the pipeline."
