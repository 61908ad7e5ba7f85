"""`tremula completion`: prints shell scripts that complete the options of all commands."""

from __future__ import annotations

import argparse
import sys

from tremula.cli import parsers
from tremula.cli.command import Command
from tremula.errors import Error

SHELLS = ("bash", "zsh", "fish")
_EPILOG = """\
Add one of these lines to your shell's start-up file:
  bash   eval "$(tremula completion bash)"
  zsh    eval "$(tremula completion zsh)"        after compinit
  fish   tremula completion fish | source
To start shells faster, write the output to a file that your shell reads on start-up.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=SHELLS, help="print the script for this shell")
    parser.add_argument(
        "--command",
        action="append",
        metavar="NAME",
        help="complete only this command (can be repeated; default: all commands)",
    )


def _run(options: argparse.Namespace) -> int:
    import shtab

    for name in options.command or parsers.COMMANDS:
        try:
            made = parsers.parser(name)
        except Error:
            if options.command:
                raise
            continue  # the package of a workload is not installed
        sys.stdout.write(shtab.complete(made, options.shell).strip() + "\n")
        if options.shell == "zsh":
            # `eval` does not read the first line, which names the command
            sys.stdout.write(f"compdef _shtab_{name.replace('-', '_')} {name}\n")
    return 0


COMMAND = Command("completion", "print a completion script for bash, zsh or fish", _add_arguments, _run)
