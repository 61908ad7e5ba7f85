"""`tremula compare A B`: shows two estimates side by side, what changed, and the cause of each difference.

With `--fail-if` the exit code says whether a limit was exceeded, for use in continuous integration.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tremula.cli.command import Command, CommandError
from tremula.cli.view import profile_in
from tremula.formatting import plain

if TYPE_CHECKING:
    from tremula.study.limits import Check
    from tremula.study.result import Result

_EPILOG = """\
A and B are each one of:
  saved.json              a file written by `tremula estimate ... --save saved.json`; saved.json#3 is its third answer
  profile.pop             a profile, or a folder that contains one
  "SUBJECT options"       quoted arguments of `tremula estimate`: "model.py:make --ipus 4 --target bow"

A limit of --fail-if describes what counts as a failure:
  worst_tile>+2%          the fullest tile uses over 2 % more memory than in A
  throughput<-3%          the throughput is more than 3 % lower than in A
  tile_share>95%          the fullest tile of B is more than 95 % full
  step_time>10ms          a step of B takes more than 10 ms
  memory.weights>+1MiB    weights take over 1 MiB more than in A (also: time.PART, cycles.MODULE)
A number with a sign is the change from A to B.

Exit codes: 0 no limit was exceeded, 1 A and B cannot be compared, 3 a limit was exceeded.
"""
#: exit code when a limit is exceeded; 1 and 2 are errors of the command
LIMIT_EXCEEDED = 3


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("a", metavar="A", help="see below")
    parser.add_argument("b", metavar="B", help="see below")
    parser.add_argument(
        "--fail-if",
        action="append",
        default=[],
        metavar="LIMIT",
        help="exit with 3 if this is true (can be repeated)",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print JSON")
    shown.add_argument(
        "--markdown", action="store_true", help="print Markdown, for example for a pull request"
    )


def _run(options: argparse.Namespace) -> int:
    from tremula.study.compare import compare
    from tremula.study.limits import check, parse_limit

    limits = [parse_limit(text) for text in options.fail_if]  # a mistake in one shows before the work
    found = compare(_result(options.a), _result(options.b))
    checks = [check(found, limit) for limit in limits]
    exceeded = [each for each in checks if each.exceeded]
    if options.json:
        print(json.dumps({**found.to_plain(), "limits": _plain(checks)}, indent=1, ensure_ascii=False))
    elif options.markdown:
        from tremula.study.compare_markdown import markdown

        print(markdown(found, checks), end="")
    else:
        print(found)
        for line in _limit_lines(checks):
            print(line)
    for each in exceeded:
        print(f"tremula: limit {plain(each.limit.text, 80)} exceeded: {each.shown}", file=sys.stderr)
    return LIMIT_EXCEEDED if exceeded else 0


def _plain(checks: Sequence[Check]) -> list[dict[str, Any]]:
    return [
        {
            "limit": each.limit.text,
            "a": each.found.a,
            "b": each.found.b,
            "found": each.shown,
            "exceeded": each.exceeded,
        }
        for each in checks
    ]


def _limit_lines(checks: Sequence[Check]) -> list[str]:
    lines = ["", f"{'limit':<40} {'found':>14}"] if checks else []
    return lines + [
        f"  {plain(each.limit.text, 38):<38} {each.shown:>14}  {'EXCEEDED' if each.exceeded else 'kept'}"
        for each in checks
    ]


def _result(text: str) -> Result:
    """One side of the comparison."""
    from tremula.study.saved import is_saved, numbered, read_one

    path = Path(numbered(text)[0])
    if text and path.is_dir():
        return read_one(profile_in(path))
    if path.is_file() and (path.suffix == ".pop" or is_saved(path)):
        return read_one(text)
    return _estimated(text)


def _estimated(text: str) -> Result:
    """The answer that `tremula estimate` would give."""
    from tremula.cli.estimate import answers_for

    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise CommandError(f"{text!r}: {problem}") from None
    if not words:
        raise CommandError("A or B is empty; give a saved estimate or quoted arguments of `tremula estimate`")
    results = answers_for(words)
    if len(results) > 1:
        raise CommandError(f"{text!r} gives {len(results)} estimates; name options that give exactly one")
    return results[0]


COMMAND = Command("compare", "compare two programs, options, chips or saved estimates", _add_arguments, _run)
