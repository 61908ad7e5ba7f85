"""More replicas on more IPUs: what they bring, and how much of it collectives and the host's link take away.

The global batch stays the same where accumulation can be divided; else it grows, and the cost says so. Scaling is
the weakest part of the chip model's evidence (docs/accuracy.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tremula.advise.advice import Change
from tremula.errors import Error
from tremula.estimate.estimate import Estimate
from tremula.hardware.catalogue import smallest_system
from tremula.hardware.system import System
from tremula.program.stages import fewest_micro_batches
from tremula.study.case import Case, Study

_FACTORS = (2, 4, 16)
_MOST_IPUS = 64


def more_replicas(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Twice, four times and sixteen times as many replicas."""
    if not found.memory.fits:
        return
    for factor in _FACTORS:
        replicas = found.loops.replicas * factor
        ipus = replicas * found.deployment.ipus_per_replica
        if ipus > _MOST_IPUS:
            break
        accumulation = found.loops.gradient_accumulation
        pipelined = found.deployment.execution == "pipelined"
        fewest = fewest_micro_batches(found.program.forward_stages if pipelined else 1, found.training)
        keeps = found.training and accumulation % factor == 0 and accumulation // factor >= fewest
        code = study.subject.dialect.replicas(replicas)
        if keeps:
            code += study.subject.dialect.accumulation(accumulation // factor)
            cost = "The global batch stays the same."
        else:
            cost = (
                f"The global batch becomes {factor} times as large." if found.training else "Latency stays."
            )

        def apply(
            case: Case,
            replicas: int = replicas,
            turns: int = accumulation // factor if keeps else accumulation,
        ) -> Case:
            return replace(
                case,
                loops=replace(case.loops, replicas=replicas, gradient_accumulation=turns),
                system=system_with(case.system, replicas * case.deployment.ipus_per_replica),
            )

        yield Change(
            rule="replicas",
            title=f"Run {replicas} replicas on {ipus} IPUs",
            why="Replicas work side by side and meet once per weight update."
            if found.training
            else "Replicas work side by side.",
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
            f"{system.name} has {system.ipus} IPUs, and {ipus} are needed: {problem.message}"
        ) from problem
