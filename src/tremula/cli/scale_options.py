"""The options of `tremula scale`, which the `scale` commands of the science workloads share."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from tremula.cli.command import CommandError
from tremula.study import options as study_options
from tremula.study.options import add_question, numbers

if TYPE_CHECKING:
    from tremula.scale.measure import MeasureSettings
    from tremula.scale.question import ScaleQuestion


_HELP = {
    "ipus": "sizes (default 1,2,4,8,16,32,64)",
    "target": "",
    "mode": "weak or strong scaling (default: both)",
    "stages": "numbers of IPUs per replica to try (default: 1,2,4,8)",
    "micro_batch": "",
    "per_ipu": "weak scaling: micro-batches per IPU and weight update",
    "global_batch": "strong scaling: samples per weight update",
    "device_iterations": "",
    "precision": "",
    "recompute": "",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the model, the measurements and the output. Workloads with their own `scale` use them too."""
    add_question(parser, _HELP)
    parser.add_argument("--optimizer", metavar="NAME", help="the optimizer, if PROGRAM is a function")
    measured = parser.add_argument_group("measurements on this host").add_argument
    measured(
        "--measure",
        type=numbers,
        metavar="N,N",
        default=[1, 2],
        help="numbers of processes to measure with poprun (default: 1,2)",
    )
    measured("--no-measure", action="store_true", help="model only")
    measured(
        "--measure-steps",
        type=int,
        default=3,
        metavar="N",
        help="weight updates per measured run (default: 3)",
    )
    measured(
        "--measure-seconds",
        type=float,
        default=300.0,
        metavar="S",
        help="time limit of each measured run (default: 300)",
    )
    measured("--measure-with", metavar="WORDS", default="",
             help="program arguments that shrink the measured runs; the study records them")  # fmt: skip
    measured("--loader-rate", type=float, metavar="R",
             help="samples/s that a host can load (default: measure the program's own loader)")  # fmt: skip
    given = parser.add_argument_group("output")
    given.add_argument(
        "--name", default="", metavar="TEXT", help="name of the study (default: the model's class)"
    )
    given.add_argument("--out", metavar="FOLDER", help="the output folder (default: scale-NAME)")
    given.add_argument(
        "--fresh", action="store_true", help="start again instead of continuing an earlier study"
    )
    form = given.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the study as JSON")
    form.add_argument("--csv", action="store_true", help="print the rows as CSV")
    form.add_argument("--brief", action="store_true", help="print one line per size")
    given.add_argument("--no-plots", action="store_true", help="write no PNG and SVG files")


def question_of(options: argparse.Namespace) -> ScaleQuestion:
    """The question. Raises CommandError for wrong options, including those of the measurements."""
    from tremula.hardware.catalogue import target
    from tremula.scale.question import ScaleQuestion

    for name in options.target or ():
        target(name)  # refuses an unknown name at once
    settings_of(options)
    given = options.loader_rate
    if given is not None and not 0 < given < float("inf"):
        raise CommandError("--loader-rate must be more than 0 samples/s")
    return study_options.question_of(options, ScaleQuestion)


def settings_of(options: argparse.Namespace) -> MeasureSettings:
    """What is measured."""
    from tremula.scale.measure import MeasureSettings

    try:
        more = tuple(shlex.split(options.measure_with))
    except ValueError as problem:
        raise CommandError(f"--measure-with {options.measure_with}: {problem}") from None
    return MeasureSettings(
        instances=tuple(dict.fromkeys(options.measure)),
        steps=options.measure_steps,
        most_seconds=options.measure_seconds,
        more_words=more,
        optimizer=options.optimizer,
    )
