"""A subject in a file: a captured program that can be estimated without its framework.

It is held in segments, so other IPUs, replicas and stages can be asked about; another micro-batch or precision cannot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tremula.checked_json import LONGEST_TEXT, BadValue, decode
from tremula.distributed.host_run import HostRun, ReadingSpeed
from tremula.errors import Error
from tremula.program.file import load_program, save_program
from tremula.program.loops import Loops
from tremula.program.lowered import LoweringSettings
from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.program.stages import Mode, StageSummary
from tremula.program.variant import CapturedVariant, InputType, Variant
from tremula.program.work import Work
from tremula.schedule.deployment import Deployment
from tremula.study.dialect import Dialect
from tremula.study.subject import Subject

#: what a file says as the subject does
_FACTS = ("name", "training", "loops", "micro_batch", "precision", "parameters", "accumulator_dtype")


@dataclass(frozen=True)
class _About:
    """What a file says of its program beside the program itself."""

    name: str
    #: the front end that captured it
    front_end: str
    training: bool
    loops: Loops
    micro_batch: int
    precision: str
    parameters: int
    inputs: tuple[InputType, ...]
    optimizer: str
    accumulator_dtype: str | None
    captured: CapturedVariant
    #: as the program lies on IPUs; and as its settings would put it on one IPU, and in a pipeline on two
    own: Deployment
    single: Deployment
    pipelined: Deployment


def save_subject(subject: Subject, path: str | Path) -> None:
    """Write the program of `subject`, as it is, to a file that `load_subject` reads."""
    captured = subject.captured(Variant())
    own = subject.deployment(captured.stages)
    facts = {name: getattr(subject, name) for name in _FACTS}
    about = _About(
        **facts,
        front_end=subject.dialect.front_end,
        inputs=tuple(subject.inputs),
        optimizer=_bounded(subject.optimizer),
        captured=captured,
        own=own,
        single=subject.deployment(None),
        pipelined=subject.deployment(StageSummary(Mode.PIPELINED, 2, (0, 1), ())),
    )
    program = subject.program(Variant(own_blocks=own.phased), own)
    save_program(program, path, _plain(about))


def _bounded(text: str) -> str:
    """A text that a file can hold; a longer one, which only tells programs apart, by its digest."""
    return text if len(text) <= LONGEST_TEXT else hashlib.sha256(text.encode()).hexdigest()


def _plain(about: _About) -> dict[str, Any]:
    """For JSON: enums by value, sets as lists."""
    data = asdict(about)
    if about.captured.stages is not None:
        data["captured"]["stages"]["mode"] = about.captured.stages.mode.value
    for name in ("own", "single", "pipelined"):
        data[name]["checkpoints"] = sorted(data[name]["checkpoints"])
        data[name]["proportions"] = dict(data[name]["proportions"])
    return data


def load_subject(path: str | Path, dialects: dict[str, Dialect]) -> SavedSubject:
    """The subject in a file; `dialects` are by front end."""
    program, data = load_program(path)
    try:
        about = decode(_About, data)
        if not about.own.phased:
            _check_segments(program, len(about.captured.own))
    except BadValue as problem:
        raise Error(f"{path} is damaged: {problem}. Save the program again.") from None
    if about.front_end not in dialects:
        raise Error(
            f"{path} was written by the front end {about.front_end[:40]!r}, which this version does not have."
        )
    return SavedSubject(program, about, dialects[about.front_end])


def _check_segments(program: Program, segments: int) -> None:
    """Every op of a step is in one of the segments, which a layout looks up by their number."""
    last = program.forward_stages - 1
    for op in program.ops:
        segment = {Phase.FORWARD: op.stage, Phase.BACKWARD: 2 * last - op.stage}.get(op.phase, 0)
        if not 0 <= segment < segments:
            raise BadValue(f"the op {op.name[:80]} is in segment {segment}, but there are {segments}")


class SavedSubject:
    """The subject of a file; see `Subject` for what is not explained here."""

    def __init__(self, program: Program, about: _About, dialect: Dialect) -> None:
        self._program = program
        self._about = about
        self.dialect = dialect
        self.name = about.name
        self.training = about.training
        self.loops = about.loops
        self.micro_batch = about.micro_batch
        self.precision = about.precision
        self.parameters = about.parameters
        self.inputs: Sequence[InputType] = about.inputs
        self.optimizer = about.optimizer
        self.accumulator_dtype = about.accumulator_dtype
        self._programs: dict[tuple[object, ...], Program] = {}

    def captured(self, variant: Variant) -> CapturedVariant:
        """Where it can be cut; only the variant that was saved is there."""
        self._refuse_others(variant)
        return self._about.captured

    def program(self, variant: Variant, deployment: Deployment) -> Program:
        """The program, with the partial sums and memory proportions of `deployment`."""
        self._refuse_others(variant)
        if variant.own_blocks != self._about.own.phased:
            raise Error(
                f"{self.name} was saved {'with the phases of its blocks' if self._about.own.phased else 'in segments'} "
                "and cannot be placed differently. Use the model itself."
            )
        key = (deployment.partials, *sorted(deployment.proportions.items()))
        if key not in self._programs:
            self._programs[key] = _lowered_again(self._program, self._about.own.lowering, deployment.lowering)
        return self._programs[key]

    def deployment(self, stages: StageSummary | None) -> Deployment:
        """As the program's settings put these stages on IPUs."""
        if stages == self._about.captured.stages:
            return self._about.own
        if stages is None or len(stages.ipus_used) <= 1:
            return self._about.single
        return replace(self._about.pipelined, ipus_per_replica=max(1, stages.ipus_per_replica))

    def with_dtypes(
        self, sent: Sequence[str | None], accumulators: str | None, precision: str | None
    ) -> Subject:
        """Refused: other types need another capture."""
        raise Error(f"{self.name} is a saved program, so its dtypes cannot be changed. Use the model itself.")

    def gives_one_tensor(self, module: str) -> bool:
        """Not known of a saved program."""
        return False

    def is_one_product(self, module: str) -> bool:
        """Not known of a saved program."""
        return False

    def train_together(self, instance: int, instances: int, steps: int) -> HostRun | None:
        """Raises Error: a saved program has no weights."""
        raise Error(f"{self.name} is a saved program and cannot be run. Measure with the model itself.")

    def loader_speed(self, seconds: float) -> ReadingSpeed:
        """Raises Error: a saved program has no data."""
        raise Error(f"{self.name} is a saved program and has no data loader.")

    def _refuse_others(self, variant: Variant) -> None:
        if variant.micro_batch not in (None, self.micro_batch):
            raise Error(
                f"{self.name} was saved with a micro-batch of {self.micro_batch}. Use the model itself to change it."
            )
        if variant.precision not in (None, self.precision):
            raise Error(f"{self.name} was saved in {self.precision}. Use the model itself to change it.")


def _lowered_again(program: Program, before: LoweringSettings, now: LoweringSettings) -> Program:
    """`program` as another lowering would have made it: partial sums and memory proportions of its work differ."""
    if before == now:
        return program
    known: dict[tuple[Work, int], Work] = {}

    def changed(work: Work, ipu: int) -> Work:
        if (work, ipu) not in known:
            values: Any = {}
            if getattr(work, "partials", None) == before.partials and work.dtype in ("fp16", "fp8"):
                values["partials"] = now.partials
            if getattr(work, "proportion", None) == before.proportion(ipu):
                values["proportion"] = now.proportion(ipu)
            known[work, ipu] = replace(work, **values) if values else work
        return known[work, ipu]

    ops = [replace(op, works=tuple(changed(work, op.ipu) for work in op.works)) for op in program.ops]
    return replace(program, ops=ops, _by_phase=None)
