"""Answers: for each setting of a question, the complete case, its estimate, or the `problem` why there is none."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tremula.errors import Error
from tremula.estimate.estimate import Estimate
from tremula.formatting import plain
from tremula.invariants import present
from tremula.memory.categories import Category
from tremula.program.variant import StageStart
from tremula.progress import ProgressCallback, bar
from tremula.study.case import Case, Study
from tremula.study.cases import Plan, case_for, deployment_for, loops_for, plans, system_for, variant_of
from tremula.study.question import Question, Setting
from tremula.study.result import Result, result_of
from tremula.study.split.result import Split
from tremula.study.subject import Subject
from tremula.study.table import as_html, as_text, columns_for, legend, unequal

#: what stays on an IPU however the model is cut
_STAYING = (Category.WEIGHTS, Category.BUFFERS, Category.OPTIMIZER_STATE, Category.ACCUMULATORS)


@dataclass(frozen=True)
class Answer:
    """What is known about one setting."""

    #: of the model
    name: str
    setting: Setting
    case: Case | None
    estimate: Estimate | None = field(repr=False)
    #: how the model was cut, if it was cut here
    split: Split | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    #: why there is no estimate
    problem: str = ""

    @functools.cached_property
    def result(self) -> Result:
        """The figures, plain and with their bands."""
        setting = {name: value for name, value in vars(self.setting).items() if value is not None}
        if self.estimate is None:
            return Result(self.name, False, setting, problem=self.problem, notes=self.notes)
        return result_of(self.estimate, name=self.name, notes=self.notes, question=setting)


@dataclass(frozen=True)
class Answers:
    """All answers to a question about one model; notebooks show them as a table."""

    subject: Subject = field(repr=False)
    study: Study = field(repr=False)
    answers: tuple[Answer, ...]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def results(self) -> tuple[Result, ...]:
        return tuple(answer.result for answer in self.answers)

    def __str__(self) -> str:
        return as_text(self.results)

    def _repr_html_(self) -> str:
        known = [result for result in self.results if not result.problem]
        notes = f"{unequal(known)} {legend(self.results)}"
        return as_html(self.subject.name, self.results, columns_for(known), notes)


def ask(
    subject: Subject, question: Question | None = None, *, tell: ProgressCallback | None = None
) -> Answers:
    """Answer `question` (by default: the program as it is) about `subject`. `tell` replaces the progress bar."""
    study = Study(subject)
    settings = (question or Question()).settings()
    found = []
    with bar(f"Modelling {plain(subject.name, 40, lines=False)}", tell) as progress:
        for number, setting in enumerate(settings):
            progress(_described(setting), number / len(settings))
            found.append(answer(study, setting))
        progress("", 1.0)
    return Answers(subject, study, tuple(found))


def answer(study: Study, setting: Setting) -> Answer:
    """The answer for one setting. If it cannot be estimated, the answer has a `problem`."""
    best: Answer | None = None
    try:
        listed = list(plans(study, setting))
        for plan in listed:
            if plan is not listed[-1] and best is not None and _hopeless(plan, best):
                continue
            found = _tried(study, setting, plan)
            if found.estimate is not None and found.estimate.memory.fits:
                return found
            if best is None or _fullest(found) < _fullest(best):
                best = found
    except Error as problem:
        return Answer(study.subject.name, setting, None, None, problem=problem.message)
    return present(best, "a plan of the setting")


def _hopeless(plan: Plan, smaller: Answer) -> bool:
    """Whether what stays in memory all the time would fill more IPUs than `plan` has, however it is cut."""
    if smaller.estimate is None or plan.stages is None:
        return False
    memory = smaller.estimate.memory
    staying = sum(size for use, size in memory.by_category.items() if use in _STAYING)
    return staying > plan.stages * memory.tiles_per_ipu * memory.tile_memory_bytes


def _fullest(found: Answer) -> float:
    return float("inf") if found.estimate is None else float(found.estimate.memory.max_tile_bytes)


def _tried(study: Study, setting: Setting, plan: Plan) -> Answer:
    """One layout: the program's own, all on one IPU, or cut over several."""
    split = None
    cuts: tuple[StageStart, ...] | None = None if plan.stages is None else ()
    try:
        if plan.stages is not None and plan.stages > 1:
            split = split_for(study, setting, plan)
            cuts = split.begins
        case, notes = case_for(study, setting, plan.replicas, cuts)
        found = study.estimate(case)
        if split is not None:
            split = split.as_in(found)
        return Answer(study.subject.name, setting, case, found, split, tuple(notes))
    except Error as problem:
        return Answer(study.subject.name, setting, None, None, problem=problem.message)


def split_for(study: Study, setting: Setting, plan: Plan) -> Split:
    """Cut the model over the IPUs of a replica, with the micro-batches that such a pipeline needs."""
    stages = present(plan.stages, "the number of stages")
    variant = variant_of(study, setting)
    deployment = deployment_for(study, setting, variant, stages)
    # one stage more than IPUs: a last one may go back to the first, to a weight that both use
    loops, _ = loops_for(study, setting, plan.replicas, stages + 1)
    system = system_for(setting, plan.replicas * stages)
    # replicas are alike: whether there are several matters to a split (their weights are reduced), how many only
    # where they share out what one would hold
    locations = (deployment.optimizer_state, deployment.weights, deployment.accumulators)
    shared = any(location.sharded for location in locations)
    alike = replace(loops, replicas=plan.replicas if shared else min(plan.replicas, 2))
    key = (variant, alike, repr(deployment), system.chip, stages)
    if key not in study.splits:
        study.splits[key] = study.split(Case(variant, loops, deployment, system, ()), stages)
    return study.splits[key]


def _described(setting: Setting) -> str:
    named = {k: v for k, v in vars(setting).items() if v is not None}
    return ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in named.items()) or "the program as it is"
