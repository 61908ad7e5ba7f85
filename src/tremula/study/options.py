"""The options of an estimate, on command lines and in TREMULA_ESTIMATE_OPTIONS."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from typing import NoReturn, TypeVar

from tremula.errors import Error
from tremula.study.question import RECOMPUTE, Question

AnyQuestion = TypeVar("AnyQuestion", bound=Question)


def numbers(text: str) -> list[int]:
    """A list of whole numbers on a command line."""
    try:
        values = [int(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of whole numbers like 1,2,4") from None
    if not values or min(values) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: numbers must be 1 or more")
    return values


def words(text: str) -> list[str]:
    """A list of names on a command line."""
    found = [each.strip() for each in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of names like bow,mk2")
    return found


#: help of the options that are fields of a question
_HELP = {
    "ipus": "total number of IPUs",
    "target": "chips (bow, mk2 ...) or systems (pod16 ...)",
    "micro_batch": "samples per micro-batch",
    "accumulation": "micro-batches per weight update",
    "precision": "fp32, fp16, fp16.32 or fp16.16 (half with partial sums in that type)",
    "stages": "IPUs per replica; the model is split over them",
    "device_iterations": "iterations of the device's loop per call",
    "recompute": ", ".join(RECOMPUTE),
    "replicas": "number of replicas of the model",
}
_NAMES = ("target", "precision", "recompute", "mode")


def add_question(
    parser: argparse.ArgumentParser, help: Mapping[str, str] = _HELP, description: str | None = None
) -> None:
    """An option for each field of a question that `help` describes; an empty text stands for the usual one."""
    group = parser.add_argument_group("settings", description)
    for name, text in help.items():
        group.add_argument(
            f"--{name.replace('_', '-')}",
            type=words if name in _NAMES else numbers,
            metavar="NAME" if name in _NAMES else "N,N",
            help=text or _HELP[name],
        )


def question_of(options: argparse.Namespace, kind: type[AnyQuestion]) -> AnyQuestion:
    """The question in options of `add_question`."""
    return kind.of(**{name: getattr(options, name, None) for name in kind.__dataclass_fields__})


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `tremula estimate`: the settings and the form of the output."""
    add_question(parser, description="comma-separated lists; every combination is estimated")
    given = parser.add_argument_group("output")
    form = given.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all figures and the advice as JSON")
    form.add_argument("--csv", action="store_true", help="print the table as CSV")
    given.add_argument("--save", metavar="FILE", help="save the estimates for `tremula compare`")
    given.add_argument(
        "--why", metavar="FIGURE", help="explain a figure (cycles_per_step, memory, ...) or an op"
    )
    given.add_argument(
        "--no-advice", action="store_true", help="print the table only and do not look for advice"
    )
    given.add_argument(
        "--advice-seconds",
        type=float,
        default=20.0,
        metavar="S",
        help="time limit for advice (default: 20)",
    )


class _Parser(argparse.ArgumentParser):
    """Raises an error instead of ending the program."""

    def error(self, message: str) -> NoReturn:
        raise Error(f"TREMULA_ESTIMATE_OPTIONS: {message}. `tremula estimate --help` lists the options.")


def options_from_text(text: str) -> argparse.Namespace:
    """Options written as on the command line."""
    parser = _Parser(add_help=False)
    add_options(parser)
    try:
        given = shlex.split(text)
    except ValueError as problem:
        raise Error(f"TREMULA_ESTIMATE_OPTIONS: {problem}.") from None
    return parser.parse_args(given)
