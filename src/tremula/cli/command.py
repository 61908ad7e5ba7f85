"""What a subcommand is to the `tremula` command: a name, its arguments and a function that runs it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass


class CommandError(Exception):
    """A command cannot go on; the text says what happened and what to do, and goes to stderr as it is."""


@dataclass(frozen=True)
class Command:
    """One subcommand.

    Attributes:
        help: one line for `tremula --help`.
        add_arguments: declares its arguments.
        run: does the work and gives the exit code.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
