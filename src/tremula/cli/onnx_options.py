"""Options of commands that take an ONNX file."""

from __future__ import annotations

import argparse

from tremula.cli.command import CommandError


def add(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """What a file does not say itself; the group of these options."""
    group = parser.add_argument_group("ONNX files")
    group.add_argument(
        "--loss",
        metavar="NAME",
        help="train it: cross_entropy, nll, mse, l1 or bce of the first output, or the output that is the loss",
    )
    group.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="INPUT=N,N",
        help="the shape of an input; may be repeated",
    )
    group.add_argument(
        "--dimension",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a dimension that the file leaves open; may be repeated",
    )
    return group


def is_file(word: str) -> bool:
    """Whether a word names an ONNX file."""
    return word.lower().endswith(".onnx")


def check(options: argparse.Namespace, subject: str | None = None, *more: str) -> None:
    """Refuse options of files, and `more` of a command, where no file is asked about."""
    subject = subject or options.subject
    if is_file(subject):
        return
    for name in ("loss", "shape", "dimension", *more):
        if getattr(options, name):
            raise CommandError(f"--{name} is for an ONNX file, which {subject} is not")


def words(options: argparse.Namespace) -> list[str]:
    """What the options say of a file, as `tremula.ask.onnx_files` reads it."""
    from tremula.ask.onnx_files import words_of

    return words_of(options.loss, options.shape, options.dimension)
