"""`tremula compare A B`: two estimates side by side, with what changed and where the difference comes from."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tremula.cli.command import Command, CommandError

if TYPE_CHECKING:
    from tremula.study.result import Result

_EPILOG = """\
A and B are each one of
  saved.json              what `tremula estimate ... --save saved.json` wrote; saved.json#3 is its third answer
  profile.pop             a profile
  "SUBJECT options"       what `tremula estimate` would be given, quoted: "model.py:make --ipus 4 --target bow"
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("a", metavar="A", help="see below")
    parser.add_argument("b", metavar="B", help="see below")
    parser.add_argument("--json", action="store_true", help="the same for scripts")


def _run(options: argparse.Namespace) -> int:
    from tremula.study.compare import compare

    found = compare(_result(options.a), _result(options.b))
    print(json.dumps(found.to_plain(), indent=1, ensure_ascii=False) if options.json else found)
    return 0


def _result(text: str) -> Result:
    """One side of the comparison."""
    from tremula.study.saved import is_saved, numbered, read_one

    path = Path(numbered(text)[0])
    if path.is_file() and (path.suffix == ".pop" or is_saved(path)):
        return read_one(text)
    return _estimated(text)


def _estimated(text: str) -> Result:
    """What `tremula estimate` would answer."""
    from tremula.cli.estimate import answers_for

    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise CommandError(f"{text!r}: {problem}") from None
    if not words:
        raise CommandError("one side is empty; give a saved estimate or what `tremula estimate` takes")
    results = answers_for(words)
    if len(results) > 1:
        raise CommandError(f"{text!r} asks for {len(results)} combinations; one can be compared")
    return results[0]


COMMAND = Command(
    "compare", "two programs, options, chips or saved estimates side by side", _add_arguments, _run
)
