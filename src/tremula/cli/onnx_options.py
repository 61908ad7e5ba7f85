"""Options of commands that take an ONNX file."""

from __future__ import annotations

import argparse

from tremula.cli.command import CommandError


def add(parser: argparse.ArgumentParser) -> None:
    """What a file does not say itself."""
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


def check(options: argparse.Namespace) -> None:
    """Refuse options of files where no file is asked about."""
    from tremula.ask.onnx_files import is_onnx_file

    if is_onnx_file(options.subject):
        return
    for name in ("loss", "shape", "dimension"):
        if getattr(options, name):
            raise CommandError(f"--{name} is for an ONNX file, which {options.subject} is not")


def words(options: argparse.Namespace) -> list[str]:
    """What the options say of a file, as `tremula.ask.onnx_files` reads it."""
    from tremula.ask.onnx_files import words_of

    return words_of(options.loss, options.shape, options.dimension)
