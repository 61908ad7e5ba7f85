"""What a subcommand is to the `tremula` command: a name, its arguments and a function that runs it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from tremula.cli.program_words import ProgramParser


class CommandError(Exception):
    """A command cannot go on; the text says what happened and what to do, and goes to stderr as it is."""


@dataclass(frozen=True)
class Command:
    """One subcommand."""

    name: str
    help: str  #: one line for `tremula --help`
    add_arguments: Callable[[ProgramParser], None]  #: declares its arguments
    run: Callable[[argparse.Namespace], int]  #: does the work and gives the exit code
