"""The options of `tremula estimate`, which TREMULA_ESTIMATE_OPTIONS understands too."""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn

from tremula.errors import Error
from tremula.study.question import RECOMPUTE, Question

_PRECISIONS = "fp32, fp16, fp16.32 or fp16.16 (half with partial sums in that type)"


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


def add_options(parser: argparse.ArgumentParser) -> None:
    """What is asked, and how the answer is given."""
    asked = parser.add_argument_group(
        "what is asked", "lists, separated by commas; every combination is answered"
    )
    asked.add_argument("--ipus", type=numbers, metavar="N,N", help="IPUs of all replicas together")
    asked.add_argument(
        "--target", type=words, metavar="NAME", help="chips (bow, mk2 ...) or systems (pod16 ...)"
    )
    asked.add_argument("--micro-batch", type=numbers, metavar="N,N", help="samples of one run of forward")
    asked.add_argument("--accumulation", type=numbers, metavar="N,N", help="micro-batches per weight update")
    asked.add_argument("--precision", type=words, metavar="P,P", help=_PRECISIONS)
    asked.add_argument(
        "--stages", type=numbers, metavar="N,N", help="IPUs of a replica: the model is cut over them"
    )
    asked.add_argument(
        "--device-iterations", type=numbers, metavar="N,N", help="turns of the device's loop per call"
    )
    asked.add_argument("--recompute", type=words, metavar="R,R", help=f"{', '.join(RECOMPUTE)}")
    asked.add_argument("--replicas", type=numbers, metavar="N,N", help="copies of the model")
    given = parser.add_argument_group("how the answer is given")
    form = given.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="all figures and advice for scripts")
    form.add_argument("--csv", action="store_true", help="the table for a spreadsheet")
    given.add_argument("--save", metavar="FILE", help="keep the answers for `tremula compare`")
    given.add_argument(
        "--why", metavar="FIGURE", help="explain a figure (cycles_per_step, memory ...) or an op"
    )
    given.add_argument("--no-advice", action="store_true", help="the table only: nothing else is tried")
    given.add_argument(
        "--advice-seconds",
        type=float,
        default=20.0,
        metavar="S",
        help="how long to look for advice (default 20)",
    )


def question_of(options: argparse.Namespace) -> Question:
    """What is asked."""
    return Question.of(
        target=options.target,
        ipus=options.ipus,
        stages=options.stages,
        replicas=options.replicas,
        micro_batch=options.micro_batch,
        accumulation=options.accumulation,
        device_iterations=options.device_iterations,
        precision=options.precision,
        recompute=options.recompute,
    )


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a variable instead of ending the program."""

    def error(self, message: str) -> NoReturn:
        raise Error(f"TREMULA_ESTIMATE_OPTIONS: {message}. `tremula estimate --help` lists the options.")


def options_from_text(text: str) -> argparse.Namespace:
    """Options written as on the command line.

    Raises:
        Error: one is not known, or its value makes no sense.
    """
    parser = _Parser(add_help=False)
    add_options(parser)
    try:
        given = shlex.split(text)
    except ValueError as problem:
        raise Error(f"TREMULA_ESTIMATE_OPTIONS: {problem}.") from None
    return parser.parse_args(given)
