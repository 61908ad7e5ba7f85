"""One complete configuration of a model: what is captured, how often it runs, and its placement on IPUs.

`Study.estimate` models a case; cached plans and captures make a second case of a program cost a fraction of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tremula.errors import Error
from tremula.estimate.estimate import Estimate, estimate
from tremula.hardware.chip import Chip
from tremula.hardware.system import System
from tremula.module_paths import is_inside
from tremula.plan.planner import Planner
from tremula.program.loops import Loops
from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.program.stages import Mode, StageSummary
from tremula.program.variant import CapturedVariant, StageStart, Variant
from tremula.program.work import PLANNED, Work
from tremula.schedule.deployment import Deployment
from tremula.schedule.relayout import Relayout
from tremula.study.split.result import Split
from tremula.study.split.search import Budget, find_split
from tremula.study.split.segmented import Segmented
from tremula.study.subject import Subject


@dataclass(frozen=True)
class Changes:
    """What differs from the program as it was written, each for a few lines of code (docs/advice.md).

    Proportions and checkpoints change a program that is captured already, other types need a capture of their own.
    """

    #: module -> share of tile memory for temporaries of its product and the product's gradients
    proportions: tuple[tuple[str, float], ...] = ()
    #: modules whose results are kept for the backward pass
    checkpoints: tuple[str, ...] = ()
    #: dtype name in which the host sends each input (None: the one it has); empty: all as they are
    sent: tuple[str | None, ...] = ()
    #: dtype name of gradient accumulators; None: the optimizer's
    accumulators: str | None = None

    def dtypes(self, variant: Variant) -> tuple[tuple[str | None, ...], str | None, str | None] | None:
        """What a capture depends on; None: on nothing of it."""
        if not any(self.sent) and self.accumulators is None:
            return None
        return self.sent, self.accumulators, variant.precision


@dataclass(frozen=True)
class Case:
    """A configuration. `cuts` None: the program's own blocks; empty: all on one IPU."""

    variant: Variant
    loops: Loops
    deployment: Deployment
    system: System
    cuts: tuple[StageStart, ...] | None = None
    changes: Changes = Changes()

    @property
    def ipus(self) -> int:
        """IPUs of all replicas."""
        return self.loops.replicas * self.deployment.ipus_per_replica


class Study:
    """A model with the estimates, plans and splits that were computed for it."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._planners: dict[Chip, Planner] = {}
        self._layouts: dict[tuple[int, tuple[tuple[int, float], ...]], Relayout] = {}
        self._estimates: dict[tuple[object, ...], Estimate] = {}
        #: splits that were found, by what they were looked for with
        self.splits: dict[tuple[object, ...], Split] = {}
        self._subjects: dict[tuple[tuple[str | None, ...], str | None, str | None], Subject] = {}

    def planner(self, system: System, deployment: Deployment) -> Planner:
        """The planner of the tiles that compute, with its cached plans."""
        chip = system.chip.with_tiles(system.chip.tiles - deployment.io_tiles)
        if chip not in self._planners:
            self._planners[chip] = Planner(chip)
        return self._planners[chip]

    def estimate(self, case: Case, *, keep: bool = True) -> Estimate:
        """The estimate of `case` by the chip model. Keeping one of a large program takes some megabytes (`keep`)."""
        system, changes = case.system, case.changes
        key = (case.variant, case.loops, repr(case.deployment), system.name, system.chip, case.cuts, changes)
        if key in self._estimates:
            return self._estimates[key]
        deployment = case.deployment
        planner = self.planner(system, deployment)
        program = self.program(case)
        if changes.checkpoints:
            marked = deployment.checkpoints | checkpoint_tensors(program, changes.checkpoints)
            deployment = replace(deployment, checkpoints=marked)
        found = estimate(program, deployment, system, planner=planner)
        if keep:
            self._estimates[key] = found
        return found

    def program(self, case: Case) -> Program:
        """The program of `case` over its IPUs."""
        if case.cuts is None and case.deployment.phased:
            own = replace(case.variant, own_blocks=True)
            return replace(self.subject.program(own, case.deployment), loops=case.loops)
        subject = self.subject_of(case)
        captured = subject.captured(case.variant)
        stage_of, ipu_of_stage = self._stages(captured, case.cuts)
        _check_loops(len(ipu_of_stage), case, self.subject)
        captured_program = subject.program(case.variant, case.deployment)
        key = (id(captured_program), tuple(sorted(case.deployment.proportions.items())))
        if key not in self._layouts:
            self._layouts[key] = Relayout(captured_program, case.deployment.proportions)
        laid = replace(self._layouts[key].over(stage_of, ipu_of_stage), loops=case.loops)
        return with_proportions(laid, case.changes.proportions)

    def segmented(self, case: Case) -> Segmented:
        """The program of `case` ready to be split."""
        subject = self.subject_of(case)
        program = subject.program(case.variant, case.deployment)
        cuts = subject.captured(case.variant).cuts
        return Segmented(replace(program, loops=case.loops), cuts, subject.dialect)

    def split(self, case: Case, ipus: int, budget: Budget | None = None) -> Split:
        """The best pipeline of `case` over `ipus` IPUs."""
        deployment, system = case.deployment, case.system
        planner = self.planner(system, deployment)
        return find_split(self.segmented(case), ipus, deployment, system, planner=planner, budget=budget)

    def subject_of(self, case: Case) -> Subject:
        """What is captured for `case`: the study's own subject, unless inputs or accumulators have other types."""
        wanted = case.changes.dtypes(case.variant)
        if wanted is None:
            return self.subject
        if wanted not in self._subjects:
            self._subjects[wanted] = self.subject.with_dtypes(*wanted)
        return self._subjects[wanted]

    def summary(self, variant: Variant, cuts: tuple[StageStart, ...] | None) -> StageSummary | None:
        """What a capture with these cuts would have seen."""
        captured = self.subject.captured(variant)
        if cuts is None:
            return captured.stages
        return pipeline_over(self._stages(captured, cuts)[1])

    @staticmethod
    def _stages(
        captured: CapturedVariant, cuts: tuple[StageStart, ...] | None
    ) -> tuple[list[int], list[int]]:
        """Stage of each segment, and IPU of each stage."""
        if cuts is None:
            numbers = {s: i for i, s in enumerate(sorted({place.stage for place in captured.own}))}
            ipus = {numbers[place.stage]: place.ipu for place in captured.own}
            return [numbers[place.stage] for place in captured.own], [ipus[i] for i in range(len(numbers))]
        known = {cut.module: cut.segment for cut in captured.cuts}
        missing = [module for module, _ in cuts if module not in known]
        if missing:
            raise Error(
                f"A stage cannot begin at {', '.join(missing)}: forward must call a module of that name exactly once. "
                f"Stages can begin at {', '.join(list(known)[:12])}{' ...' if len(known) > 12 else ''}."
            )
        begins = [known[module] for module, _ in cuts]
        if begins != sorted(set(begins)):
            raise Error("Name the modules of stages in the order in which forward calls them.")
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


def _check_loops(forward_stages: int, case: Case, subject: Subject) -> None:
    """Refuse a pipeline with fewer micro-batches than stages."""
    if case.deployment.execution != "pipelined":
        return
    training = subject.training
    stages = subject.dialect.micro_batches(1, forward_stages, training)
    given = case.loops.gradient_accumulation if training else case.loops.device_iterations
    if given < stages:
        what = "gradient accumulation" if training else "device iterations"
        raise Error(
            f"A pipeline of {forward_stages} stages needs at least {stages} micro-batches per "
            f"{'update' if training else 'call'}, but {what} is {given}."
        )


def checkpoint_tensors(program: Program, modules: Sequence[str]) -> frozenset[str]:
    """Names of the tensors that hold the results of `modules`: what the last op inside each makes."""
    last: dict[str, str] = {}
    for number in program.of_phase(Phase.FORWARD):
        op = program.ops[number]
        for module in modules:
            if op.outputs and is_inside(op.module, module):
                tensor = program.tensors[op.outputs[0]]
                last[module] = program.tensors[tensor.storage].name
    missing = [module for module in modules if module not in last]
    if missing:
        raise Error(f"No op of forward belongs to {', '.join(missing[:8])}.")
    return frozenset(last.values())


def with_proportions(program: Program, proportions: Sequence[tuple[str, float]]) -> Program:
    """`program` with other shares of memory for the products of some modules."""
    if not proportions:
        return program
    shares = dict(proportions)

    def sharing(work: Work, share: float) -> Work:
        return replace(work, proportion=share) if isinstance(work, PLANNED) else work

    ops = [
        replace(op, works=tuple(sharing(work, shares[op.module]) for work in op.works))
        if op.module in shares and op.phase in (Phase.FORWARD, Phase.BACKWARD)
        else op
        for op in program.ops
    ]
    return replace(program, ops=ops, _by_phase=None)
