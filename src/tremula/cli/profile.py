"""`tremula profile PROGRAM`: runs a program with profiling enabled, then prints the profile.

The program runs unchanged in its own process. The command sets the engine options that enable reports, as users with
hardware do, and does not change the output or the exit code. For an ONNX file nothing is run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tremula.atomic_files import write_problem
from tremula.cli import onnx_options
from tremula.cli.command import Command, CommandError
from tremula.cli.program_words import ProgramParser
from tremula.cli.view import write_files
from tremula.errors import Error
from tremula.profile import Profile
from tremula.settings import env
from tremula.telemetry import ledger

_VARIABLE = "POPLAR_ENGINE_OPTIONS"


def _add_arguments(parser: ProgramParser) -> None:
    parser.takes_program = True
    parser.usage = (
        "tremula profile [-h] [-o DIR] [--html] [--trace] (PROGRAM | -m MODULE) [--] [arguments]\n"
        "       tremula profile [options] MODEL.onnx"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("profile"), metavar="DIR",
                        help="folder for the profiles (default: ./profile)")  # fmt: skip
    parser.add_argument("--html", action="store_true", help="also write each profile as an HTML page")
    parser.add_argument(
        "--trace", action="store_true", help="also write each profile as a trace for ui.perfetto.dev"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module name")
    files = onnx_options.add(parser)
    files.add_argument(
        "--optimizer",
        metavar="NAME",
        help="train with this optimizer: sgd, momentum, adam, adamw, lamb or rmsprop",
    )
    files.add_argument("--ipus", type=int, metavar="N", help="number of IPUs to use (default: 1)")
    parser.add_argument(
        "program", metavar="PROGRAM", help="a Python program that runs a model on IPUs, or an ONNX file"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...",
                        help="its arguments: after `--`, or from the first word that is not an option")  # fmt: skip


def _run(args: argparse.Namespace) -> int:
    onnx_options.check(args, args.program, "optimizer", "ipus")
    if onnx_options.is_file(args.program):
        return _profile_file(args)
    if not args.module and not Path(args.program).is_file():
        raise CommandError(f"there is no program {args.program}; use -m to run a module")
    folder = args.output.absolute()
    wanted = {**env.get(_VARIABLE), "autoReport.all": "true", "autoReport.directory": str(folder)}
    before = _files(folder)
    command = [sys.executable, *(["-m"] if args.module else []), args.program, *args.arguments]
    started = time.time()
    try:
        process = subprocess.Popen(command, env={**os.environ, _VARIABLE: json.dumps(wanted)})
    except OSError as error:
        raise CommandError(f"cannot start the program: {error.strerror or error}") from error
    with process:
        process.wait()
    written = [path for path, stamp in _files(folder).items() if before.get(path) != stamp]
    sys.stdout.flush()
    code = 128 - process.returncode if process.returncode < 0 else process.returncode
    if not written:
        print(f"tremula: no profile was written: {_why(folder, process.pid, started)}", file=sys.stderr)
        return code or 1
    for path in sorted(written):
        _show(path, args)
    return code


def _profile_file(args: argparse.Namespace) -> int:
    """Write and show the profile of an ONNX file."""
    if args.arguments:
        raise CommandError(f"unexpected argument for an ONNX file: {args.arguments[0]}")
    # here, for they take a moment
    from tremula.ask.onnx_files import onnx_file
    from tremula.recording import write_profile
    from tremula.study.answer import answer
    from tremula.study.case import Study
    from tremula.study.question import Question

    model = onnx_file(args.program, onnx_options.words(args), optimizer=args.optimizer)
    question = Question.of(ipus=args.ipus) if args.ipus else Question.of()
    found = answer(Study(model), question.settings()[0])
    if found.estimate is None:
        raise CommandError(found.problem)
    path = args.output.absolute() / ("training" if model.training else "inference") / "profile.pop"
    write_profile(found.estimate, path, run={"model": model.name, "program": args.program})
    _show(path, args)
    return 0


def _why(folder: Path, pid: int, started: float) -> str:
    """Why a program wrote no profile, from the record of its run or from the state of the folder."""
    run = next((run for run in reversed(ledger.read()) if run.pid == pid and run.ended >= started), None)
    noted = [] if run is None else [entry.no_profile for entry in run.models if entry.no_profile]
    if noted:
        return noted[-1]
    problem = write_problem(folder)
    if problem is not None:
        return f"{folder} cannot be written ({problem}). Choose another folder with -o."
    return "the program compiled no wrapped model. Check its output for errors, or run `tremula doctor`."


def _files(folder: Path) -> dict[Path, tuple[int, int]]:
    """Profiles below `folder`, with the data that tells a new one from an old one."""
    found = {}
    for path in folder.rglob("profile.pop"):
        status = path.stat()
        found[path] = (status.st_ino, status.st_mtime_ns)
    return found


def _show(path: Path, args: argparse.Namespace) -> None:
    from tremula.view.summary import brief

    print(f"\nProfile: {_short(path)} ({path.stat().st_size / 1e6:.1f} MB)")
    try:
        with Profile(path) as profile:
            print(brief(profile))
            write_files(
                profile,
                path.with_name("profile.html") if args.html else None,
                path.with_name("profile.trace.json") if args.trace else None,
            )
            print(f"More: tremula view {_short(path)}")
    except Error as problem:
        print(f"tremula: {problem.message}", file=sys.stderr)


def _short(path: Path) -> str:
    """`path` relative to the current directory, if it is inside."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


COMMAND = Command("profile", "run a program and write a profile of the modelled chip", _add_arguments, _run)
