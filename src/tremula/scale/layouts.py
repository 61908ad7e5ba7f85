"""The best layout of a size: every width of replica that is asked for is modelled, and the fastest that fits is taken.

Where to cut is searched once per width and chip, with as many micro-batches as the pipeline needs: how many there are
beyond that moves the best cut by very little, and how many replicas there are not at all.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field

from tremula.errors import Error
from tremula.estimate.estimate import VERSION
from tremula.hardware.chip import Chip
from tremula.memory.verdict import FITTING
from tremula.program.stages import Mode, fewest_micro_batches
from tremula.program.variant import StageStart, Variant
from tremula.scale.batches import Batches
from tremula.scale.question import ScaleQuestion
from tremula.scale.row import Layout
from tremula.study.answer import split_for
from tremula.study.case import Case, Study
from tremula.study.cases import Plan, case_for, system_for, variant_of
from tremula.study.question import Setting
from tremula.study.result import Result, result_of
from tremula.study.subject import Subject

#: a layout with the blocks that the program has itself
OWN = 0


@dataclass(frozen=True)
class Tried:
    """A layout with its figures, if it has any."""

    layout: Layout
    case: Case | None = None
    result: Result | None = field(default=None, repr=False)

    @property
    def fits(self) -> bool:
        """More probably than not."""
        return self.layout.fits in FITTING


@dataclass(frozen=True)
class _Cut:
    """Where a width is cut on a chip, or why it is not."""

    begins: tuple[StageStart, ...] = ()
    problem: str = ""


class Layouts:
    """The layouts of one model, with what was found out about them."""

    def __init__(self, subject: Subject, question: ScaleQuestion) -> None:
        self.subject = subject
        self.question = question
        self.study = Study(subject)
        self._cuts: dict[tuple[Chip, int], _Cut] = {}
        own = subject.captured(Variant()).stages
        self._own = own if own is not None and (own.ipus_per_replica > 1 or own.mode is Mode.PHASED) else None

    @property
    def own_ipus(self) -> int:
        """IPUs of a replica as the program has it."""
        return 1 if self._own is None else self._own.ipus_per_replica

    @functools.cached_property
    def program(self) -> str:
        """Digest of the model as it was captured, and of what is asked about all sizes."""
        question = self.question
        variant = variant_of(self.study, self._setting(None, 1))
        flat = self.subject.program(variant, self.subject.deployment(None))
        digest = hashlib.sha256(VERSION.encode())
        for op in flat.ops:
            digest.update(f"{op.kind} {op.phase} {op.works} {op.inputs} {op.outputs} {op.module}\n".encode())
        for tensor in flat.tensors:
            digest.update(f"{tensor.bytes} {tensor.role} {tensor.storage}\n".encode())
        rest = (
            flat.inputs, flat.outputs, sorted(question.stages), question.device_iterations[0],
            question.precision[0], question.recompute[0], self.subject.loops, self.subject.training, self._own,
        )  # fmt: skip
        digest.update(repr(rest).encode())
        return digest.hexdigest()

    def basis(self, target: str | None, ipus: int, batches: Batches, mode: str) -> str:
        """Digest of everything that a row follows from: two rows with the same one are the same."""
        try:
            system = repr(system_for(self._setting(target, 1), ipus))
        except Error as problem:
            system = problem.message
        deployments = [
            repr(self.subject.deployment(None)),
            repr(self.subject.deployment(self._own)),
        ]
        share = batches.samples(mode, ipus)
        rest = (self.program, target, system, deployments, ipus, mode, batches.micro_batch, share)
        return hashlib.sha256(repr(rest).encode()).hexdigest()

    def widths(self, ipus: int) -> list[int]:
        """What is tried with so many IPUs: OWN, and numbers of IPUs of a replica."""
        widths = [width for width in sorted(self.question.stages) if width <= ipus and ipus % width == 0]
        if self._own is None:
            return widths
        return [*([OWN] if ipus % self._own.ipus_per_replica == 0 else []), *widths]

    def tried(self, target: str | None, ipus: int, width: int, batches: Batches, mode: str) -> Tried:
        """The layout with `width` IPUs to a replica, at a size."""
        stages = width or self.own_ipus
        replicas = ipus // stages
        turns = 0
        try:
            turns = batches.accumulation(mode, ipus, stages)
            setting = self._setting(target, turns)
            cuts = self._cuts_of(target, ipus, width) if width else None
            case, notes = case_for(self.study, setting, replicas, cuts)
            found = self.study.estimate(case, keep=False)  # sizes are many, and each is asked about once
        except Error as problem:
            return Tried(Layout(replicas, stages, turns, own=width == OWN, problem=problem.message))
        question = {"target": target, "precision": self.question.precision[0]}
        result = result_of(found, name=self.subject.name, notes=tuple(notes), question=question)
        layout = Layout(
            replicas=replicas,
            stages=stages,
            accumulation=turns,
            fits=result.fits,
            throughput=result["throughput"].value,
            tile_share=result["tile_share"].value,
            begins=tuple(f"{module} on IPU {ipu}" for module, ipu in cuts or ()),
            own=width == OWN,
        )
        return Tried(layout, case, result)

    def needed(self, target: str | None, ipus: int, width: int) -> int:
        """The fewest micro-batches of a replica that a width can run with.

        Raises Error if the model cannot be cut like this.
        """
        if width == OWN:
            stages = self._own.forward_stages if self._own is not None else 1
        else:
            # blocks that return to an IPU make a stage of their own
            stages = 1 + len(self._cuts_of(target, ipus, width))
        return fewest_micro_batches(stages, self.subject.training)

    def _setting(self, target: str | None, micro_batches: int) -> Setting:
        return self.question.setting(target, micro_batches, training=self.subject.training)

    def _cuts_of(self, target: str | None, ipus: int, width: int) -> tuple[StageStart, ...]:
        if width == 1:
            return ()
        enough = 2 * width + 2  # one stage more than IPUs: a last one may return to the first
        setting = self._setting(target, enough)
        key = (system_for(setting, ipus).chip, width)
        if key not in self._cuts:
            try:
                split = split_for(self.study, setting, Plan(width, min(2, ipus // width)))
                self._cuts[key] = _Cut(split.begins)
            except Error as problem:
                self._cuts[key] = _Cut(problem=problem.message)
        cut = self._cuts[key]
        if cut.problem:
            raise Error(cut.problem)
        return cut.begins


def best_of(tried: list[Tried]) -> Tried | None:
    """The fastest that fits; if none does, the one that is nearest to fitting; None if there are no figures."""
    known = [each for each in tried if each.result is not None]
    fitting = [each for each in known if each.fits]
    if fitting:
        return max(fitting, key=lambda each: (each.layout.throughput or 0.0, -each.layout.stages))
    return min(known, key=lambda each: each.layout.tile_share or 0.0, default=None)
