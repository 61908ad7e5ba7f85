"""`tremula run PROGRAM`: runs a program in a new interpreter, with options for older programs."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tremula.cli.command import Command, CommandError
from tremula.cli.program_words import ProgramParser

_TENSORFLOW = "TREMULA_TENSORFLOW"


def _add_arguments(parser: ProgramParser) -> None:
    parser.takes_program = True
    parser.add_argument(
        "--tf1",
        action="store_true",
        help=f"make `import tensorflow` provide the TensorFlow 1.15 API, like {_TENSORFLOW}=1",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module name")
    parser.add_argument("subject", metavar="PROGRAM", help="a Python file, followed by its own arguments")


def _run(options: argparse.Namespace) -> int:
    if not options.module and not Path(options.subject).exists():
        raise CommandError(
            f"there is no program {options.subject}; use `tremula run -m MODULE` to run a module"
        )
    environment = {**os.environ, **({_TENSORFLOW: "1"} if options.tf1 else {})}
    words = [*(["-m"] if options.module else []), options.subject, *options.arguments]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *words], environment)


COMMAND = Command("run", "run a program, with options for older programs", _add_arguments, _run)
