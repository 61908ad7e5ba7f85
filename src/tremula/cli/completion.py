"""`tremula completion`: scripts that let a shell complete the options of all commands."""

from __future__ import annotations

import argparse
import sys

from tremula.cli import parsers
from tremula.cli.command import Command
from tremula.errors import Error

SHELLS = ("bash", "zsh", "fish")
_EPILOG = """\
Add one of these lines to the start-up file of your shell:
  bash   eval "$(tremula completion bash)"
  zsh    eval "$(tremula completion zsh)"        after compinit
  fish   tremula completion fish | source
Or write the output to a file that the shell reads at its start; that is faster.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=SHELLS, help="the shell to write the script for")
    parser.add_argument(
        "--command", action="append", metavar="NAME", help="only this command (may be repeated; default: all)"
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


COMMAND = Command("completion", "print a script for completion in bash, zsh or fish", _add_arguments, _run)
