"""One configuration of a model, complete: what is captured, how often it runs, how it lies on which IPUs.

`Study.estimate` models a case; planners and captures are kept, so that a second case of the same program costs a
fraction of the first. Everything that answers, splits and advises goes through here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tremula.errors import Error
from tremula.estimate.estimate import Estimate, estimate
from tremula.frontends.torch.capture.stages import Mode, StageSummary
from tremula.frontends.torch.subject import CapturedVariant, Subject, Variant
from tremula.hardware.chip import Chip
from tremula.hardware.system import System
from tremula.plan.planner import Planner
from tremula.program.loops import Loops
from tremula.program.program import Program
from tremula.schedule.deployment import Deployment
from tremula.schedule.pipeline import pipeline_stages
from tremula.schedule.relayout import Relayout
from tremula.study.changes import Changes, kept_tensors, subject_with, with_proportions
from tremula.study.split.result import Split
from tremula.study.split.segmented import Segmented

#: where a stage begins: path of the module, and its IPU
Begin = tuple[str, int]


@dataclass(frozen=True)
class Case:
    """A configuration. `cuts` None: the program's own blocks; empty: all on one IPU."""

    variant: Variant
    loops: Loops
    deployment: Deployment
    system: System
    cuts: tuple[Begin, ...] | None = None
    changes: Changes = Changes()

    @property
    def ipus(self) -> int:
        """IPUs of all replicas."""
        return self.loops.replicas * self.deployment.ipus_per_replica


class Study:
    """A model under study, with everything that was found out about it."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._planners: dict[Chip, Planner] = {}
        self._layouts: dict[tuple[int, tuple[tuple[int, float], ...]], Relayout] = {}
        self._estimates: dict[tuple[object, ...], Estimate] = {}
        #: splits that were found, by what they were looked for with
        self.splits: dict[tuple[object, ...], Split] = {}
        self._subjects: dict[tuple[object, ...], Subject] = {}

    def planner(self, system: System, deployment: Deployment) -> Planner:
        """The planner of the tiles that compute, with the shapes that it knows."""
        chip = system.chip.with_tiles(system.chip.tiles - deployment.io_tiles)
        if chip not in self._planners:
            self._planners[chip] = Planner(chip)
        return self._planners[chip]

    def estimate(self, case: Case, *, keep: bool = True) -> Estimate:
        """What the chip model says of `case`.

        Args:
            case: the configuration.
            keep: remember it for those who ask again; a large program's takes some megabytes.

        Raises:
            Error: the program cannot run or lie on the system like this.
        """
        system, changes = case.system, case.changes
        key = (case.variant, case.loops, repr(case.deployment), system.name, system.chip, case.cuts, changes)
        if key in self._estimates:
            return self._estimates[key]
        deployment = case.deployment
        planner = self.planner(system, deployment)
        flat = self.laid_out(case)
        if changes.kept:
            kept = deployment.checkpoints | kept_tensors(flat, changes.kept)
            deployment = replace(deployment, checkpoints=kept)
        found = estimate(flat, deployment, system, planner=planner)
        if keep:
            self._estimates[key] = found
        return found

    def laid_out(self, case: Case) -> Program:
        """The program of `case` over its IPUs."""
        if case.cuts is None and case.deployment.execution.endswith("phased"):
            own = replace(case.variant, own_blocks=True)
            return replace(self.subject.flat(own, case.deployment), loops=case.loops)
        subject = self.subject_of(case)
        captured = subject.captured(case.variant)
        stage_of, ipu_of_stage = self._stages(captured, case.cuts)
        _check_loops(len(ipu_of_stage), case, self.subject.training)
        flat = subject.flat(case.variant, case.deployment)
        key = (id(flat), tuple(sorted(case.deployment.proportions.items())))
        if key not in self._layouts:
            self._layouts[key] = Relayout(flat, case.deployment.proportions)
        laid = replace(self._layouts[key].over(stage_of, ipu_of_stage), loops=case.loops)
        return with_proportions(laid, case.changes.proportions)

    def segmented(self, case: Case) -> Segmented:
        """The program of `case` ready to be split."""
        subject = self.subject_of(case)
        flat = subject.flat(case.variant, case.deployment)
        return Segmented(flat, subject.captured(case.variant).cuts).with_loops(case.loops)

    def subject_of(self, case: Case) -> Subject:
        """What is captured for `case`: the study's own subject, unless inputs or accumulators have other types."""
        wanted = case.changes.captured(case.variant)
        if wanted is None:
            return self.subject
        if wanted not in self._subjects:
            self._subjects[wanted] = subject_with(self.subject, case.changes, case.variant)
        return self._subjects[wanted]

    def summary(self, variant: Variant, cuts: tuple[Begin, ...] | None) -> StageSummary | None:
        """What a capture with these cuts would have seen."""
        captured = self.subject.captured(variant)
        if cuts is None:
            return captured.stages
        return pipeline_over(self._stages(captured, cuts)[1])

    @staticmethod
    def _stages(captured: CapturedVariant, cuts: tuple[Begin, ...] | None) -> tuple[list[int], list[int]]:
        """Stage of each segment, and IPU of each stage."""
        if cuts is None:
            numbers = {s: i for i, s in enumerate(sorted({place.stage for place in captured.own}))}
            ipus = {numbers[place.stage]: place.ipu for place in captured.own}
            return [numbers[place.stage] for place in captured.own], [ipus[i] for i in range(len(numbers))]
        known = {cut.module: cut.segment for cut in captured.cuts}
        missing = [module for module, _ in cuts if module not in known]
        if missing:
            raise Error(
                f"A stage cannot begin at {', '.join(missing)}: no module of that name is called exactly once. "
                f"Stages can begin at {', '.join(list(known)[:12])}{' ...' if len(known) > 12 else ''}."
            )
        begins = [known[module] for module, _ in cuts]
        if begins != sorted(set(begins)):
            raise Error("Stages must begin in the order in which forward calls their modules.")
        stage_of = [sum(begin <= segment for begin in begins) for segment in range(len(captured.own))]
        return stage_of, [0, *(ipu for _, ipu in cuts)]


def pipeline_over(ipu_of_stage: Sequence[int]) -> StageSummary:
    """What a capture sees whose stages lie on these IPUs."""
    return StageSummary(
        mode=Mode.PIPELINED,
        forward_stages=len(ipu_of_stage),
        ipus_used=tuple(sorted(set(ipu_of_stage))),
        blocks=(),
    )


def _check_loops(forward_stages: int, case: Case, training: bool) -> None:
    """Refuse a pipeline with fewer micro-batches than stages, as PopTorch does."""
    if case.deployment.execution != "pipelined" or forward_stages == 1:
        return
    stages = pipeline_stages(forward_stages, training)
    given = case.loops.gradient_accumulation if training else case.loops.device_iterations
    if given < stages:
        what = "gradient accumulation" if training else "device iterations"
        raise Error(
            f"A pipeline of {forward_stages} stages needs at least {stages} micro-batches per "
            f"{'update' if training else 'call'}, and {what} is {given}."
        )
