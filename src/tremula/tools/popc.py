"""`popc`: checks codelets in C++ and puts them, with their includes, into one file for `addCodelets`.

The file contains sources, which are compiled for the computer on which they are used.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tremula.atomic_files import cannot_write
from tremula.settings.shims import STACK_VERSION

_USAGE = """\
usage: popc [flags] file.cpp ... -o file.gp

Checks codelets in C++ and puts them into one file for addCodelets.

  -o FILE           write to FILE (default: the first source with the ending .gp)
  -I DIR, -D NAME, -U NAME, -std=..., -O..., -W..., -f..., -include FILE
                    as for the C++ compiler of this computer
  -target NAME      no effect: the only target is this computer
  --no-check        do not compile, only collect the sources
  --version, --help

The file contains sources. Adding it to a graph compiles and runs them, so use such files only from people you trust.
"""
#: flags that choose what to write; there is one form here
_FORMS = {"-S": "assembly", "-c": "an object file", "-E": "preprocessed text", "--emit-llvm": "LLVM code"}


@dataclass
class _Command:
    """What the command line asks for."""

    sources: list[Path] = field(default_factory=list)
    output: Path | None = None
    flags: list[str] = field(default_factory=list)
    check: bool = True


def build_parser() -> argparse.ArgumentParser:
    """The options as a parser, for shell completion and the manual page; all other flags go to the C++ compiler."""
    made = argparse.ArgumentParser(
        prog="popc", description="Check codelets in C++ and put them into one file for addCodelets."
    )
    made.add_argument(
        "-o", metavar="FILE", help="write to FILE (default: the first source with the ending .gp)"
    )
    made.add_argument("-I", metavar="DIR", action="append", help="look for included files in DIR")
    made.add_argument("-D", metavar="NAME", action="append", help="define a macro")
    made.add_argument("-U", metavar="NAME", action="append", help="remove a macro")
    made.add_argument("-include", metavar="FILE", action="append", help="include FILE before each source")
    made.add_argument("-target", metavar="NAME", help="has no effect: there is one target, this computer")
    made.add_argument("--no-check", action="store_true", help="do not compile, only collect")
    made.add_argument("--version", action="store_true", help="show the version")
    made.add_argument("file", nargs="+", help="sources in C++")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or "--help" in words or "-h" in words:
        print(_USAGE, end="")
        return 0 if words else 2
    if "--version" in words or "-v" in words:
        # programs take the third word for the version
        print(
            f"POPLAR version {STACK_VERSION} (Tremula: the C++ compiler of this computer compiles codelets)"
        )
        return 0
    from tremula.frontends.poplar.errors import PoplarError

    try:
        return _run(_parsed(words))
    except PoplarError as problem:
        print(f"popc: {problem.message}", file=sys.stderr)
        return 1
    except OSError as problem:
        print(f"popc: {cannot_write(problem.filename or 'the output', problem)}", file=sys.stderr)
        return 1


def _parsed(words: Sequence[str]) -> _Command:
    from tremula.frontends.poplar.errors import GraphProgramCompilationError

    command = _Command()
    rest = iter(words)
    for word in rest:
        if word == "-o":
            command.output = Path(next(rest, ""))
        elif word == "--no-check":
            command.check = False
        elif word in _FORMS:
            raise GraphProgramCompilationError(
                f"{word} requests {_FORMS[word]}, which popc cannot create: leave it out"
            )
        elif word in ("-I", "-D", "-U", "-include", "-isystem", "-iquote", "-target", "--target", "-mllvm"):
            command.flags += [word, next(rest, "")]
        elif word.startswith("-"):
            command.flags.append(word)
        else:
            command.sources.append(Path(word))
    if not command.sources:
        raise GraphProgramCompilationError("no source was given: name one or more C++ files")
    return command


def _run(command: _Command) -> int:
    from tremula.frontends.poplar.codelets.cpp import archive, bundling, compiler, library

    output = command.output or Path(command.sources[0].with_suffix(".gp").name)
    sources = bundling.bundle(command.sources, shlex.join(command.flags))
    if command.check and compiler.find() is None:
        print("popc: there is no C++ compiler, so the sources were not checked", file=sys.stderr)
    elif command.check:
        # from the collected texts, so that what is missing among them is found
        prepared = library.prepare(sources, accurate_half=False, workers=6)
        with tempfile.TemporaryDirectory(prefix="tremula-popc-"):
            names = [name for each in library.library_of(prepared).vertices() for name in each.names[:1]]
        if not names:
            print(f"popc: {sources.title} defines no vertex", file=sys.stderr)
    archive.write(output, sources)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
