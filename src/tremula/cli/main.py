"""Entry point of the `tremula` command: parses the command line and runs a subcommand."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import gc
import os
import sys
from collections.abc import Iterator, Sequence

from tremula import __version__
from tremula.atomic_files import disk_problem, named_file
from tremula.cli import (
    cache,
    compare,
    completion,
    cpp,
    demo,
    doctor,
    estimate,
    profile,
    run,
    scale,
    settings,
    system,
    view,
)
from tremula.cli.command import Command, CommandError
from tremula.cli.program_words import ProgramParser
from tremula.errors import Error
from tremula.formatting import plain

COMMANDS: tuple[Command, ...] = (
    cache.COMMAND,
    compare.COMMAND,
    completion.COMMAND,
    cpp.COMMAND,
    demo.COMMAND,
    doctor.COMMAND,
    estimate.COMMAND,
    profile.COMMAND,
    run.COMMAND,
    scale.COMMAND,
    settings.COMMAND,
    system.COMMAND,
    view.COMMAND,
)


#: allocations between two garbage collections; imports and captures create hundreds of thousands of lasting objects
_COLLECT_AFTER = (20_000, 20, 20)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="tremula",
        description="Run, estimate and profile programs for IPUs on any computer.",
    )
    parser.add_argument("--version", action="version", version=f"tremula {__version__}")
    subparsers = parser.add_subparsers(
        title="commands", metavar="command", required=True, parser_class=ProgramParser
    )
    for command in COMMANDS:
        subparser = subparsers.add_parser(command.name, help=command.help, description=command.help)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def main(args: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0 for success, 1 for a reported failure, 2 for a wrong command line."""
    words = list(sys.argv[1:] if args is None else args)
    parser = build_parser()
    try:
        if not words:
            parser.print_help()
            return 0
        _check_name(parser, words[0])
        options = parser.parse_args(words)
    except SystemExit as exit_request:  # argparse has printed the help or the mistake
        return int(exit_request.code or 0)
    try:
        with _seldom_collected():
            code: int = options.run(options)
        sys.stdout.flush()
    except (CommandError, Error) as error:
        text = error.message if isinstance(error, Error) else str(error)
        print(f"tremula: {plain(text)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:
        print(f"\ntremula: stopped{stopped}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `tremula settings | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if not named_file(error):
            raise
        told = disk_problem(error) or f"{named_file(error)}: {error.strerror}."
        print(f"tremula: {told}", file=sys.stderr)
        return 1
    return code


def _check_name(parser: argparse.ArgumentParser, word: str) -> None:
    """Exit with an error for an unknown command that suggests similar names."""
    names = [command.name for command in COMMANDS]
    if word.startswith("-") or word in names:
        return
    near = difflib.get_close_matches(word, names, 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"the commands are {', '.join(names)}"
    parser.error(f"unknown command {plain(word, 40)!r}: {hint}")


@contextlib.contextmanager
def _seldom_collected() -> Iterator[None]:
    """Collect garbage less often inside; this saves a fifth of the time until `estimate` prints its first table."""
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
