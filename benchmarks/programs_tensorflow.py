"""Runs public TensorFlow programs for IPUs, unchanged, on the installed package and tabulates the result.

    python benchmarks/programs_tensorflow.py --mnist FOLDER [--examples FOLDER] [--labs FOLDER] [--tutorials1 FOLDER]
        [--cosmoflow30 FOLDER] [--cosmoflow25 FOLDER] [--page PAGE] [--estimate]

--examples is the `tutorials` folder of a checkout of the vendor's examples, --labs a checkout of the workshop
happidence1/IPU-Training, --tutorials1 a checkout of the vendor's tutorials, branch sdk-release-2.5, for those of
TensorFlow 1. The CosmoFlow folders are `ai_for_simulation/cosmoflow/tensorflow1` of tag v3.0.0 of the examples and
`code_examples/tensorflow/cosmoflow` of tag v2.5.0. Programs for TensorFlow 1 get TREMULA_TENSORFLOW=1. --mnist is a
folder with the four files of MNIST. Each program is copied to a scratch folder and runs there with a home of its own,
data in place of downloads (program_aids/keras_data.py) and a time limit. With --estimate, no program runs to its end:
`tremula estimate run` answers for the first program that each compiles (program_estimates.py).
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from program_estimates import estimate_head, estimated

from programs import ENDED, NOTES, stop

HERE = pathlib.Path(__file__).resolve().parent
#: checkouts whose programs are for TensorFlow 1
TENSORFLOW_1 = ("tutorials1", "cosmoflow30", "cosmoflow25")
HEAD = """# TensorFlow programs

Written by `python benchmarks/programs_tensorflow.py`; the notes below the table are written by hand. The programs are
the TensorFlow 2 ones of the vendor's public examples (`tutorials` of github graphcore/examples), the Keras labs of
github happidence1/IPU-Training, the TensorFlow 1 ones of github graphcore/tutorials (branch sdk-release-2.5), and
CosmoFlow (github graphcore/examples, tags v3.0.0 and v2.5.0). Programs for TensorFlow 1 run with
`TREMULA_TENSORFLOW=1`. Long trainings are shortened with the programs' own arguments. Their files are not changed.
Their downloads are replaced: MNIST comes from files, and CIFAR-10 and IMDB are random images and reviews.

*Runs to the end* means exit code 0. It does not mean that the numbers are right; the tests check that. Accuracies and
times say nothing about an IPU.

**{ended} of {count} run to the end.**

"""


@dataclass(frozen=True)
class Program:
    """One program of the list.

    Attributes:
        source: which checkout it is in.
        script: its path there.
        arguments: as they are given.
        reason: why it does not run, if that is known.
        limit: seconds that it may take.
        poprun: options of poprun, if that starts it.
        first: a script beside it that runs first, with the options `first_poprun`.
        first_poprun: see `first`.
    """

    source: str
    script: str
    arguments: str = ""
    reason: str = ""
    limit: int = 900
    poprun: str = ""
    first: str = ""
    first_poprun: str = ""

    def commands(self) -> Iterator[list[str]]:
        """What is run, one after the other."""
        if self.first:
            yield [*_launcher(self.first_poprun), *_python(self.first)]
        yield [*_launcher(self.poprun), *_python(pathlib.Path(self.script).name), *self.arguments.split()]


def _launcher(options: str) -> list[str]:
    return [sys.executable, "-m", "tremula.launch", *options.split()] if options else []


def _python(script: str) -> list[str]:
    return [sys.executable, str(HERE / "program_aids" / "keras_data.py"), script]


@contextmanager
def prepared(
    program: Program, checkout: pathlib.Path, mnist: pathlib.Path
) -> Iterator[tuple[pathlib.Path, dict[str, str]]]:
    """A scratch copy of the folder of a program, and the environment to run it in."""
    with tempfile.TemporaryDirectory(prefix="program-", ignore_cleanup_errors=True) as folder:
        scratch = pathlib.Path(folder)
        script = pathlib.Path(program.script)
        work = scratch / (script.parent.name or "program")
        shutil.copytree((checkout / script).parent, work)
        yield (
            work,
            os.environ
            | {
                "HOME": str(scratch),
                "TREMULA_MNIST": str(mnist),
                "TREMULA_STATE_DIR": str(scratch / "state"),
                "MPLBACKEND": "Agg",
                "TREMULA_TENSORFLOW": "1" if program.source in TENSORFLOW_1 else "2",
                "TF_CPP_MIN_LOG_LEVEL": "2",
            },
        )


def run(
    program: Program, checkout: pathlib.Path, mnist: pathlib.Path, log: pathlib.Path
) -> tuple[str, float]:
    """Run one program in a scratch copy; how it ended and how long it took."""
    with prepared(program, checkout, mnist) as (work, environment):
        started = time.monotonic()
        code: int | None = 0
        with open(log, "wb") as output:
            for command in program.commands():
                child = subprocess.Popen(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                         stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
                try:
                    code = child.wait(timeout=program.limit)
                except subprocess.TimeoutExpired:
                    code = None
                    stop(child)
                if code != 0:
                    break
        seconds = time.monotonic() - started
    if code is None:
        return f"stopped after {program.limit} s", seconds
    if code == 0:
        return ENDED, seconds
    lines = log.read_text(errors="replace").splitlines()
    errors = [line for line in lines if re.match(r"(\w+\.)*\w*(Error|Exception)\b", line)]
    return f"fails: {program.reason or (errors or lines or ['no output'])[-1][:140]}", seconds


def table(outcomes: list[tuple[Program, str, float]]) -> Iterator[str]:
    """The outcomes as Markdown."""
    yield "| program | result | seconds |"
    yield "|---|---|---:|"
    for program, result, seconds in outcomes:
        name = f"{program.script} {program.arguments}".strip()
        name = f"poprun {program.poprun} {name}" if program.poprun else name
        yield f"| `{name}` | {result.replace('|', '/')} | {seconds:.0f} |"


def log_of(logs: pathlib.Path, number: int, program: Program) -> pathlib.Path:
    """The file for what a program prints."""
    return logs / f"{number:02}-{pathlib.Path(program.script).stem}.log"


def estimate_all(
    chosen: list[tuple[int, Program, pathlib.Path]], mnist: pathlib.Path, logs: pathlib.Path
) -> int:
    """Tabulate what `tremula estimate run` says of programs; 0 if every one without a known reason is answered."""
    print("\n".join(estimate_head()))
    answered = True
    for number, program, checkout in chosen:
        name = f"{program.script} {program.arguments}".strip()
        with prepared(program, checkout, mnist) as (work, environment):
            *before, command = program.commands()
            for each in before:  # leaves what the program loads
                subprocess.run(
                    each, cwd=work, env=environment, capture_output=True, timeout=program.limit, check=False
                )
            # the interpreter, the script that brings data, and what follows
            at = len(_launcher(program.poprun))
            asked = [
                *command[:at],
                sys.executable,
                "-m",
                "tremula.cli",
                "estimate",
                "--json",
                "run",
                *command[at + 1 :],
            ]
            found = estimated(asked, work, environment, log_of(logs, number, program), program.limit)
        answered &= found.answered or bool(program.reason)
        print(found.row(f"poprun {program.poprun} {name}" if program.poprun else name), flush=True)
    return 0 if answered else 1


def main(arguments: list[str] | None = None) -> int:
    """Run the list; exit code 0 if every program without a known reason ran to the end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mnist", type=pathlib.Path, required=True, help="folder with the four files of MNIST"
    )
    parser.add_argument("--examples", type=pathlib.Path, help="the examples' `tutorials` folder")
    parser.add_argument("--labs", type=pathlib.Path, help="checkout of the workshop")
    for source in TENSORFLOW_1:
        parser.add_argument(f"--{source}", type=pathlib.Path, help="programs for TensorFlow 1: see above")
    parser.add_argument("--only", default="", help="only programs whose path contains this")
    parser.add_argument("--logs", type=pathlib.Path, default=pathlib.Path("program-logs"))
    parser.add_argument("--page", type=pathlib.Path, help="write the table to this Markdown file")
    parser.add_argument("--estimate", action="store_true", help="tabulate estimates instead of running")
    options = parser.parse_args(arguments)
    folders = {source: getattr(options, source) for source in ("examples", "labs", *TENSORFLOW_1)}
    options.logs.mkdir(parents=True, exist_ok=True)
    listed = tomllib.loads((HERE / "programs_tensorflow.toml").read_text())
    programs = [Program(source, **entry) for source, entries in listed.items() for entry in entries]
    chosen = [
        (number, program, folders[program.source].resolve())
        for number, program in enumerate(programs)
        if folders[program.source] is not None and options.only in program.script
    ]
    if options.estimate:
        return estimate_all(chosen, options.mnist.resolve(), options.logs)
    outcomes = []
    for number, program, checkout in chosen:
        log = log_of(options.logs, number, program)
        result, seconds = run(program, checkout, options.mnist.resolve(), log)
        outcomes.append((program, result, seconds))
        print(f"{program.script} {program.arguments}: {result} ({seconds:.0f} s)", flush=True)
    ended = sum(result == ENDED for _, result, _ in outcomes)
    print(f"{ended} of {len(outcomes)} run to the end")
    if options.page:
        old = options.page.read_text() if options.page.exists() else ""
        notes = old[old.index(NOTES) :] if NOTES in old else f"{NOTES}\n"
        head = HEAD.format(ended=ended, count=len(outcomes))
        options.page.write_text(head + "\n".join(table(outcomes)) + "\n\n" + notes)
    return 0 if all(result == ENDED or program.reason for program, result, _ in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
