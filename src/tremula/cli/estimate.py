"""`tremula estimate`: models whether a program fits on IPUs, how fast it runs and why, and what to change."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from tremula.cli import onnx_options
from tremula.cli.command import Command, CommandError
from tremula.cli.program_words import ProgramParser
from tremula.study.options import add_options, question_of

if TYPE_CHECKING:
    from tremula.study.placed_subject import PlacedSubject
    from tremula.study.result import Result
    from tremula.study.subject import Subject

Answered = TypeVar("Answered")

_EPILOG = """\
SUBJECT is one of:
  file.py:function        a function without arguments that returns (model, inputs) or (model, inputs, optimizer);
  package.module:function   inputs are those of one micro-batch, and no weights are allocated
  run program.py args...  an unchanged program, run until the first call of a wrapped model
  run -m module args...   the same for a module; its arguments follow `--`, or start at the first word that is not an
                          option above
  model.onnx              an ONNX file, for inference or (with --loss) training; the weights are not read
  file                    a program saved with --save-program; the framework is not loaded
If TREMULA_ESTIMATE is set to table, advice or stop, any program prints its own estimate.
"""


def _add_arguments(parser: ProgramParser) -> None:
    parser.takes_program, parser.keyword = True, "run"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add_options(parser)
    made = parser.add_argument_group("models that a function makes")
    kind = made.add_mutually_exclusive_group()
    kind.add_argument("--training", action="store_true", help="train the model: its forward returns the loss")
    kind.add_argument("--inference", action="store_true", help="forward only")
    made.add_argument("--optimizer", metavar="NAME", help="sgd, momentum, adam, adamw, lamb or rmsprop")
    onnx_options.add(parser)
    programs = parser.add_argument_group("programs")
    programs.add_argument(
        "--go-on",
        action="store_true",
        help="do not stop the program after its first model; estimate every model that it compiles",
    )
    parser.add_argument(
        "--save-program",
        metavar="FILE",
        help="save the captured program, to estimate it later without its framework",
    )
    parser.add_argument("subject", metavar="SUBJECT", help="see below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help=argparse.SUPPRESS)


def _run(options: argparse.Namespace) -> int:
    _check_subject(options)
    # here, for it takes a moment
    from tremula.advise.report import print_recompilations, report
    from tremula.ask.sources import check_figure, save_program

    if options.why:
        check_figure([options.subject, *options.arguments], options.why)
    out = sys.stdout
    shapes: dict[tuple[str, bool], list[list[tuple[int, ...]]]] = {}

    def answer(subject: Subject) -> int:
        sizes = [each.shape for each in subject.inputs]
        shapes.setdefault((subject.name, subject.training), []).append(sizes)
        if options.save_program:
            save_program(subject, options.save_program)
        return report(subject, options, file=out)

    def answer_placed(subject: PlacedSubject) -> int:
        if options.save_program:
            raise CommandError(f"cannot save {subject.name}: the program places its vertices on tiles itself")
        return report(subject, options, file=out)

    code = max(_each_subject(options, answer, answer_placed))
    if not (options.json or options.csv):
        print_recompilations(shapes, out)
    return code


def answers_for(words: list[str]) -> list[Result]:
    """The figures that `tremula estimate` would print for `words`, its command line.

    Raises CommandError if the words are not valid, or there is nothing to estimate.
    """
    parser = ProgramParser(prog="tremula estimate", usage="tremula estimate [options] SUBJECT")
    _add_arguments(parser)
    options = parser.parse_args(words)
    _check_subject(options)
    from tremula.study.answer import ask
    from tremula.study.question import Question

    question = question_of(options, Question)
    found = _each_subject(
        options, lambda subject: list(ask(subject, question).results), lambda subject: [subject.result()]
    )
    return found[0]


def _check_subject(options: argparse.Namespace) -> None:
    onnx_options.check(options)
    if options.subject != "run" and options.arguments:
        raise CommandError(
            "more than one SUBJECT was given. To estimate a program: tremula estimate [options] run program.py args..."
        )


def _each_subject(
    options: argparse.Namespace,
    answer: Callable[[Subject], Answered],
    placed: Callable[[PlacedSubject], Answered],
) -> list[Answered]:
    """The answer for the model, or for each model that a program compiles."""
    from tremula.ask.sources import each_subject

    return each_subject(
        [options.subject, *options.arguments, *onnx_options.words(options)],
        answer,
        training=True if options.training else False if options.inference else None,
        optimizer=options.optimizer,
        go_on=options.go_on,
        prints=sys.stderr if options.json or options.csv else None,  # scripts read the answer alone
        placed=placed,
    )


COMMAND = Command("estimate", "estimate the memory and speed of a model on IPUs", _add_arguments, _run)
