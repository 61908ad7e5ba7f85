"""Estimates for a model on IPUs, for scripts and notebooks: memory, speed, pipeline splits, advice.

    from tremula import ask

    model = ask.factory("model.py:make")            # or ask.subject(wrapped, *batch), ask.program("train.py")
    print(ask.estimate(model, ipus=[1, 4], target="bow"))
    print(ask.advice(model))

All figures are modelled, not measured. `print` and notebooks show the results as tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack

from tremula.advise.advice import Advice
from tremula.advise.advise import AdviceList, advise
from tremula.advise.compile_time import CompileTime, compile_time
from tremula.advise.operations import Looks
from tremula.advise.operations import operations as _operations
from tremula.advise.recompilations import Recompilations, recompilations
from tremula.ask.onnx_files import onnx_file
from tremula.ask.sources import factory, program, save_program, saved_program, subject
from tremula.device.chip_model import estimate_of
from tremula.errors import Error
from tremula.estimate.estimate import Estimate
from tremula.scale.question import ScaleQuestion
from tremula.scale.row import ScalingStudy
from tremula.scale.run import make_study
from tremula.study.answer import Answer, Answers, answer
from tremula.study.answer import ask as _ask
from tremula.study.case import Study
from tremula.study.compare import Comparison
from tremula.study.compare import compare as _compare
from tremula.study.question import Question
from tremula.study.result import Result
from tremula.study.saved import read_one
from tremula.study.split.result import Split
from tremula.study.subject import Subject

__all__ = [
    "Advice", "AdviceList", "Answer", "Answers", "Comparison", "CompileTime", "Estimate", "Looks", "Question",
    "Recompilations", "Result", "ScaleQuestion", "ScalingStudy", "Split", "Subject", "advice", "compare",
    "compile_time", "estimate", "estimate_of", "factory", "onnx_file", "operations", "program", "recompilations",
    "save_program", "saved_program", "scale", "split", "subject",
]  # fmt: skip


class Setting(TypedDict, total=False):
    """Values of one setting. The program's own value is used if it is left out."""

    target: str
    ipus: int
    stages: int
    replicas: int
    micro_batch: int
    accumulation: int
    device_iterations: int
    precision: str
    recompute: str


class Settings(TypedDict, total=False):
    """Values or lists of values; every combination is answered."""

    target: str | Sequence[str]
    ipus: int | Sequence[int]
    stages: int | Sequence[int]
    replicas: int | Sequence[int]
    micro_batch: int | Sequence[int]
    accumulation: int | Sequence[int]
    device_iterations: int | Sequence[int]
    precision: str | Sequence[str]
    recompute: str | Sequence[str]


#: one side of a comparison: a result, an answer, a saved file or a profile
Side = Result | Answer | Answers | str | PathLike[str]


def estimate(model: Subject, **question: Unpack[Settings]) -> Answers:
    """Estimate memory and speed of a model, for every combination of the given values.

    Args:
        model: from `factory`, `subject` or `program`.
        question: values or lists of them for target, ipus, stages, replicas, micro_batch, accumulation,
            device_iterations, precision (fp32, fp16, fp16.32, fp16.16) and recompute (none, all, norms). The default
            of each is the program's own value.

    Raises:
        Error: an unknown field or an invalid value. If values do not fit together, the answer has a `problem`.
    """
    return _ask(model, Question.of(**question))


def split(model: Subject, ipus: int, /, **setting: Unpack[Setting]) -> Split:
    """Find the best pipeline over `ipus` IPUs: where to cut, what each IPU computes, and the code for it.

    Raises:
        Error: the model cannot be split over this number of IPUs.
    """
    setting["stages"] = ipus
    found = _answer(Study(model), setting)
    if found.split is None:
        raise Error(found.problem or f"The model cannot be split over {ipus} IPU{'s' * (ipus != 1)}.")
    return found.split


def advice(model: Subject, *, budget_seconds: float = 30.0, **setting: Unpack[Setting]) -> AdviceList:
    """Changes that make the model fit or run faster, best first, each with its predicted effect.

    Args:
        model: from `factory`, `subject` or `program`.
        budget_seconds: no new change is tried after this time.
        setting: single values of the arguments of `estimate`; by default the program's own.

    Raises:
        Error: the program cannot be estimated with these settings.
    """
    study = Study(model)
    return advise(study, _answer(study, setting), budget_seconds=budget_seconds)


def operations(model: Subject, **setting: Unpack[Setting]) -> Looks:
    """Ops that are unsupported, not modelled, computed by the host, or unusually slow.

    Raises:
        Error: the program cannot be estimated with these settings.
    """
    found = _answer(Study(model), setting)
    if found.estimate is None or found.case is None:
        raise Error(found.problem)
    return _operations(found.estimate, model.captured(found.case.variant).unknown, model.dialect)


def _answer(study: Study, setting: Setting) -> Answer:
    settings = Question.of(**setting).settings()
    if len(settings) > 1:
        raise Error(f"The values give {len(settings)} combinations; give one value for each field.")
    return answer(study, settings[0])


def compare(a: Side, b: Side) -> Comparison:
    """Compare A and B: what is different, and where the difference comes from.

    Args:
        a: a result, an answer, a file from `tremula estimate --save`, or a profile.
        b: like `a`.

    Raises:
        Error: one of them has no figures, or several answers.
    """
    return _compare(_result(a), _result(b))


def _result(side: Side) -> Result:
    if isinstance(side, Result):
        return side
    if isinstance(side, Answer):
        return side.result
    if isinstance(side, Answers):
        if len(side) != 1:
            raise Error(f"One side has {len(side)} answers; choose one of them to compare.")
        return side.results[0]
    return read_one(side)


def scale(model: Subject, *, folder: str | PathLike[str], name: str = "", **question: Any) -> ScalingStudy:
    """Model how the program scales over IPUs. Nothing is measured on the host.

    Args:
        model: from `factory`, `subject` or `program`.
        folder: the folder of the study; a second call continues it.
        name: the name in reports; by default that of the model.
        question: values or lists for the fields of `ScaleQuestion`: ipus, target, mode, stages, per_ipu ...

    Raises:
        Error: an invalid value, or the folder cannot be written.
    """
    return make_study(
        model, ScaleQuestion.of(**question), command="tremula.ask.scale", folder=Path(folder), name=name
    )
