"""`tremula cpp`: headers and libraries to compile Poplar programs in C++."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from tremula.cli.command import Command, CommandError
from tremula.cli.program_words import ProgramParser
from tremula.errors import Error


def _add_arguments(parser: ProgramParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=["enable"],
        help="compile the libraries and print the shell settings: source <(tremula cpp enable)",
    )
    parser.add_argument(
        "--dir",
        metavar="PATH",
        help="install into this folder and write enable.sh there (default: a folder in the user's cache)",
    )
    parser.add_argument("--cflags", action="store_true", help="print the compiler flags")
    parser.add_argument("--libs", action="store_true", help="print the linker flags")


def _run(args: argparse.Namespace) -> int:
    if args.action is None and not (args.cflags or args.libs):
        raise CommandError("`tremula cpp` needs one of: enable, --cflags, --libs")
    from tremula.frontends.poplar.cpp import installation
    from tremula.progress import bar

    directory = Path(os.path.abspath(args.dir)) if args.dir else None
    try:
        with bar("Poplar for C++") as progress:
            made = installation.install(directory, progress)
    except Error as problem:
        raise CommandError(problem.message) from None
    flags: list[str] = []
    if args.cflags:
        flags.append(f"-isystem{made.include}")
    if args.libs:
        flags += [f"-L{made.lib}", f"-Wl,-rpath,{made.lib}", "-lpoplar", "-lpoputil", "-lpopops", "-lpoplin"]
        flags += ["-lpopnn", "-lpoprand", "-lgcl"]
    if flags:
        sys.stdout.write(" ".join(shlex.quote(each) for each in flags) + "\n")
    elif directory is not None:
        sys.stdout.write(f"source {shlex.quote(str(made.script))}\n")
    else:
        sys.stdout.write(made.script.read_text(encoding="utf-8"))
    return 0


COMMAND = Command("cpp", "compile and run Poplar programs in C++", _add_arguments, _run)
