"""A subcommand of `tremula`: a name, its arguments and a function that runs it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from tremula.cli.program_words import ProgramParser


class CommandError(Exception):
    """Stops a command. The text says what happened and what to do; it is printed to stderr unchanged."""


@dataclass(frozen=True)
class Command:
    """One subcommand."""

    name: str
    help: str  #: one line for `tremula --help`
    add_arguments: Callable[[ProgramParser], None]  #: declares its arguments
    run: Callable[[argparse.Namespace], int]  #: does the work and gives the exit code
