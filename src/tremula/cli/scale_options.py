"""The options of `tremula scale`, which the science workloads' own `scale` understands too."""

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
    "mode": "weak, strong (default: both)",
    "stages": "IPUs of a replica that are tried (default 1,2,4,8)",
    "micro_batch": "",
    "per_ipu": "weak: micro-batches of an IPU per weight update",
    "global_batch": "strong: samples per weight update",
    "device_iterations": "",
    "precision": "",
    "recompute": "",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The question, what is measured and what is written; programs with a `scale` of their own take these too."""
    add_question(parser, _HELP)
    parser.add_argument("--optimizer", metavar="NAME", help="of a model that a function makes")
    measured = parser.add_argument_group("what is measured on this host").add_argument
    measured(
        "--measure", type=numbers, metavar="N,N", default=[1, 2], help="processes under poprun (default 1,2)"
    )
    measured("--no-measure", action="store_true", help="model only")
    measured("--measure-steps", type=int, default=3, metavar="N", help="weight updates (default 3)")
    measured(
        "--measure-seconds",
        type=float,
        default=300.0,
        metavar="S",
        help="for each run, at most (default 300)",
    )
    measured("--measure-with", metavar="WORDS", default="",
             help="arguments that make the program smaller for these runs; the study says so")  # fmt: skip
    measured("--loader-rate", type=float, metavar="R",
             help="samples/s that a host has ready (default: the program's own loader is measured)")  # fmt: skip
    given = parser.add_argument_group("how the answer is given")
    given.add_argument(
        "--name", default="", metavar="TEXT", help="what to call it (default: the model's class)"
    )
    given.add_argument("--out", metavar="FOLDER", help="where everything goes (default scale-NAME)")
    given.add_argument("--fresh", action="store_true", help="do not go on from what is in the folder")
    form = given.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the study for scripts")
    form.add_argument("--csv", action="store_true", help="print the rows for a spreadsheet")
    form.add_argument("--brief", action="store_true", help="one line for each size")
    given.add_argument("--no-plots", action="store_true", help="no PNG and SVG")


def question_of(options: argparse.Namespace) -> ScaleQuestion:
    """The question; refuses mistakes now, also those in what is measured."""
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
