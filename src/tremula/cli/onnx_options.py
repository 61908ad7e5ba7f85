"""Options of commands that take an ONNX file."""

from __future__ import annotations

import argparse

from tremula.cli.command import CommandError


def add(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options for what an ONNX file does not contain. Returns their group."""
    group = parser.add_argument_group("ONNX files")
    group.add_argument(
        "--loss",
        metavar="NAME",
        help="train with this loss of the first output (cross_entropy, nll, mse, l1 or bce), or the name of an "
        "output that is the loss",
    )
    group.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="INPUT=N,N",
        help="the shape of an input (can be repeated)",
    )
    group.add_argument(
        "--dimension",
        action="append",
        default=[],
        metavar="NAME=N",
        help="the size of a symbolic dimension of the file (can be repeated)",
    )
    return group


def is_file(word: str) -> bool:
    """Whether a word names an ONNX file."""
    return word.lower().endswith(".onnx")


def check(options: argparse.Namespace, subject: str | None = None, *more: str) -> None:
    """Raise CommandError if options for ONNX files, or `more` of a command, were given for another subject."""
    subject = subject or options.subject
    if is_file(subject):
        return
    for name in ("loss", "shape", "dimension", *more):
        if getattr(options, name):
            raise CommandError(f"--{name} is only for ONNX files, and {subject} is not one")


def words(options: argparse.Namespace) -> list[str]:
    """The options of a file in the form that `tremula.ask.onnx_files` reads."""
    from tremula.ask.onnx_files import words_of

    return words_of(options.loss, options.shape, options.dimension)
