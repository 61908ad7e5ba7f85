"""From a setting to complete cases: replicas, stages and accumulation that fit together.

IPUs become replicas if the model fits on one IPU; else it is cut over 2, 4, 8 ... IPUs until it fits. Accumulation
(in inference: device iterations) is raised to what a pipeline needs where it is the program's own; the answer says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tremula.errors import Error
from tremula.formatting import counted
from tremula.hardware.catalogue import target
from tremula.hardware.system import System
from tremula.machine.modelled_system import modelled_system
from tremula.program.loops import Loops
from tremula.program.stages import Mode
from tremula.program.variant import StageStart, Variant
from tremula.schedule.deployment import Deployment
from tremula.study.case import Case, Study, pipeline_over
from tremula.study.question import PRECISIONS, Setting


@dataclass(frozen=True)
class Plan:
    """A layout to try: so many IPUs for a replica, so many replicas."""

    #: IPUs of a replica; None: the program's own blocks
    stages: int | None
    replicas: int


def plans(study: Study, setting: Setting) -> Iterator[Plan]:
    """The layouts that answer `setting`, best first; the first that fits is taken."""
    own = study.subject.captured(Variant()).stages
    ipus, stages, replicas = setting.ipus, setting.stages, setting.replicas
    if stages is not None:
        yield Plan(stages, _replicas(ipus, stages, replicas, study, "stages"))
        return
    if own is not None and (own.ipus_per_replica > 1 or own.mode is Mode.PHASED):
        each = own.ipus_per_replica
        yield Plan(None, _replicas(ipus, each, replicas, study, "IPUs of the program's own blocks"))
        return
    if ipus is None:
        yield Plan(1, replicas or study.subject.loops.replicas)
        return
    if replicas is not None:
        if ipus % replicas:
            raise Error(f"{ipus} IPUs cannot be divided among {replicas} replicas.")
        yield Plan(ipus // replicas, replicas)
        return
    cuttable = len(study.subject.captured(variant_of(study, setting)).cuts)
    width = 1
    while width <= ipus:
        if ipus % width == 0 and width <= cuttable + 1:
            yield Plan(width, ipus // width)
        width *= 2


def _replicas(ipus: int | None, each: int, replicas: int | None, study: Study, what: str) -> int:
    if replicas is not None:
        if ipus is not None and ipus != replicas * each:
            raise Error(
                f"{replicas} replicas of {each} {what} need {counted(replicas * each, 'IPU')}, not {ipus}."
            )
        return replicas
    if ipus is None:
        return study.subject.loops.replicas
    if ipus % each:
        raise Error(f"{ipus} {'IPU is' if ipus == 1 else 'IPUs are'} not a multiple of {each} {what}.")
    return ipus // each


def variant_of(study: Study, setting: Setting) -> Variant:
    """What has to be captured for `setting`."""
    # partial sums are a matter of planning, not of capture
    precision = None if setting.precision is None else PRECISIONS[setting.precision][0]
    if precision == study.subject.precision:
        precision = None
    micro_batch = setting.micro_batch if setting.micro_batch != study.subject.micro_batch else None
    return Variant(micro_batch, precision)


def system_for(setting: Setting, ipus: int) -> System:
    """The system that `setting` is about, with `ipus` IPUs at least."""
    return modelled_system(ipus) if setting.target is None else target(setting.target, ipus)


def loops_for(study: Study, setting: Setting, replicas: int, stages: int) -> tuple[Loops, list[str]]:
    """Loop counts for a pipeline of `stages` forward stages (1: none), and notes about those that were raised."""
    own, training = study.subject.loops, study.subject.training
    loops = Loops(
        device_iterations=setting.device_iterations or own.device_iterations,
        gradient_accumulation=(setting.accumulation or own.gradient_accumulation) if training else 1,
        replicas=replicas,
    )
    field = "gradient_accumulation" if training else "device_iterations"
    what = "accumulation" if training else "device_iterations"
    given = getattr(loops, field)
    needed = study.subject.dialect.micro_batches(given, stages, training)
    if given == needed or getattr(setting, what) is not None:
        return loops, []
    note = (
        f"{what.replace('_', ' ')} raised from {given} to {needed}, because a pipeline of {stages} stages needs "
        "as many micro-batches"
    )
    raised: dict[str, Any] = {field: needed}
    return replace(loops, **raised), [note]


def deployment_for(
    study: Study, setting: Setting, variant: Variant, layout: int | tuple[StageStart, ...] | None
) -> Deployment:
    """How the program lies on its IPUs: so many, or those of given stages, or of its own blocks (None)."""
    seen = pipeline_over(range(layout)) if isinstance(layout, int) else study.summary(variant, layout)
    deployment = study.subject.deployment(seen)
    if setting.precision is not None and (partials := PRECISIONS[setting.precision][1]) is not None:
        deployment = replace(deployment, partials=partials)
    if setting.recompute is not None and study.subject.training:
        deployment = replace(deployment, recompute=setting.recompute)
    return deployment


def case_for(
    study: Study, setting: Setting, replicas: int, cuts: tuple[StageStart, ...] | None
) -> tuple[Case, list[str]]:
    """The complete case, with notes."""
    variant = variant_of(study, setting)
    deployment = deployment_for(study, setting, variant, cuts)
    summary = study.summary(variant, cuts)
    stages = summary.forward_stages if summary is not None and deployment.execution == "pipelined" else 1
    loops, notes = loops_for(study, setting, replicas, stages)
    system = system_for(setting, replicas * deployment.ipus_per_replica)
    return Case(variant, loops, deployment, system, cuts), notes
