"""`tremula profile PROGRAM`: runs a program with its profile switched on, then shows what was written.

The program is a process of its own and knows nothing of it: it gets the engine options that turn reports on, as
users with hardware set them. Its output and its exit code are its own. The profile of an ONNX file is written without
running anything.
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
        "tremula profile [-h] [-o DIR] [--html] [--trace] (PROGRAM | -m MODULE) [--] [arguments of it]\n"
        "       tremula profile [options] MODEL.onnx"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("profile"), metavar="DIR",
                        help="folder for the profiles (default: ./profile)")  # fmt: skip
    parser.add_argument("--html", action="store_true", help="write a page beside each profile")
    parser.add_argument("--trace", action="store_true", help="write a trace beside each profile")
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is the name of a module")
    files = onnx_options.add(parser)
    files.add_argument(
        "--optimizer", metavar="NAME", help="train it: sgd, momentum, adam, adamw, lamb or rmsprop"
    )
    files.add_argument("--ipus", type=int, metavar="N", help="IPUs that it is spread over (default 1)")
    parser.add_argument(
        "program", metavar="PROGRAM", help="a Python program that runs a model on IPUs, or an ONNX file"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...",
                        help="its arguments: behind `--`, or from the first word that is no option above")  # fmt: skip


def _run(args: argparse.Namespace) -> int:
    onnx_options.check(args, args.program, "optimizer", "ipus")
    if onnx_options.is_file(args.program):
        return _profile_file(args)
    if not args.module and not Path(args.program).is_file():
        raise CommandError(f"there is no program {args.program}; a module is run with -m")
    folder = args.output.absolute()
    wanted = {**env.get(_VARIABLE), "autoReport.all": "true", "autoReport.directory": str(folder)}
    before = _files(folder)
    command = [sys.executable, *(["-m"] if args.module else []), args.program, *args.arguments]
    started = time.time()
    try:
        process = subprocess.Popen(command, env={**os.environ, _VARIABLE: json.dumps(wanted)})
    except OSError as error:
        raise CommandError(f"the program cannot be started: {error.strerror or error}") from error
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
        raise CommandError(f"an ONNX file takes no arguments: {args.arguments[0]}")
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
    """Why a program left no profile: what it noted in the record of its run, or what can be seen of the folder."""
    run = next((run for run in reversed(ledger.read()) if run.pid == pid and run.ended >= started), None)
    noted = [] if run is None else [entry.no_profile for entry in run.models if entry.no_profile]
    if noted:
        return noted[-1]
    problem = write_problem(folder)
    if problem is not None:
        return f"{folder} cannot be written ({problem}). Choose another folder with -o."
    return "the program compiled no wrapped model, or its output says what went wrong (`tremula doctor` may say more)"


def _files(folder: Path) -> dict[Path, tuple[int, int]]:
    """Profiles below `folder`, with what tells a new one from an old one."""
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
    """`path` relative to where the user stands, if it lies below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


COMMAND = Command("profile", "run a program and write what the modelled chip would do", _add_arguments, _run)
