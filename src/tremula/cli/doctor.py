"""`tremula doctor`: checks this environment for problems, and shows whether models were executed.

Each check gives findings. A `problem` prevents programs from running on Tremula and makes the exit code 1. The
command changes nothing.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tremula import __version__
from tremula.atomic_files import write_problem
from tremula.cache.trust import default_root
from tremula.cli import conflicts
from tremula.cli.command import Command
from tremula.cli.doctor_tensorflow import check_tensorflow
from tremula.cli.finding import Finding
from tremula.errors import Error
from tremula.formatting import plain
from tremula.machine import systems
from tremula.private_files import code_distrust, folder_distrust
from tremula.settings import VARIABLES, env
from tremula.settings.directories import state_folder
from tremula.settings.shims import MAIN_SHIM
from tremula.telemetry import ledger

_STYLES = {"ok": "green", "note": "cyan", "warning": "yellow", "problem": "bold red"}


def check_python() -> Iterator[Finding]:
    """The interpreter, and the number of cores that it may use."""
    yield Finding("ok", "Python", f"{platform.python_version()} at {sys.executable}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Finding("ok", "host", f"{platform.system()} {platform.machine()}, {cores} cores for this process")


def check_torch() -> Iterator[Finding]:
    """Whether the installed torch is the release that Tremula requires."""
    try:
        installed = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        yield Finding("problem", "PyTorch", "not installed. Reinstall tremula, which depends on it.")
        return
    pin = pinned_torch()
    if pin is None:
        yield Finding(
            "note",
            "PyTorch",
            f"{installed}. The required version is unknown, because Tremula runs from a source tree and "
            "is not installed.",
        )
    elif installed.partition("+")[0] == pin:
        yield Finding("ok", "PyTorch", f"{installed}, the required release")
    else:
        yield Finding(
            "problem",
            "PyTorch",
            f"{installed}, but Tremula requires exactly {pin}. Run: pip install torch=={pin}",
        )


def pinned_torch() -> str | None:
    """The torch release that the installed Tremula requires."""
    try:
        requirements = importlib.metadata.requires("tremula") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for requirement in requirements:
        match = re.match(r"torch\s*==\s*([\w.]+)", requirement)
        if match:
            return match[1]
    return None


def check_import() -> Iterator[Finding]:
    """The module that a new Python process loads when it imports the main shim."""
    script, title = f"import {MAIN_SHIM}; print({MAIN_SHIM}.__file__)", f"import {MAIN_SHIM}"
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding("problem", title, f"could not be checked: {error}")
        return
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        yield Finding("problem", title, f"fails: {last}")
    elif done.stdout.strip() == "None":
        yield Finding("problem", title, "loads a folder without code. Reinstall tremula.")
    else:
        yield Finding("ok", title, f"works, from {done.stdout.strip()}")


def check_conflicts() -> Iterator[Finding]:
    """A Poplar SDK, or other packages with the names that programs import."""
    sdk = conflicts.poplar_sdk()
    if sdk:
        yield Finding(
            "warning",
            "Poplar SDK",
            f"an SDK is enabled ({sdk}). If you have IPUs, use the SDK and uninstall Tremula from this "
            "environment. To use Tremula, start a shell in which the SDK is not enabled.",
        )
    else:
        yield Finding("ok", "Poplar SDK", "none enabled, so nothing conflicts with Tremula")
    for other in conflicts.foreign_packages():
        if other.shadows_ours:
            text = f"loads {other.where}, which is not Tremula's. Programs use that one. "
            if other.distribution:
                text += f"pip uninstall {other.name}, then reinstall tremula, or use a clean environment."
            else:
                text += "Use a clean environment."
            yield Finding("problem", other.name, text)
        else:
            text = (
                f"another package ({other.where}). Tremula does not ship this module and does not change it."
            )
            yield Finding("note", other.name, text)


def check_compiler() -> Iterator[Finding]:
    """Whether a C++ compiler is installed, and what that changes."""
    names = [name for name in (os.environ.get("CXX"), "c++", "g++", "clang++", "cl") if name]
    found = next((path for name in names if (path := shutil.which(name))), None)
    yield Finding(
        "ok" if found else "note",
        "C++ compiler",
        f"{found}; long runs are compiled in the background (docs/performance.md)"
        if found
        else "none: programs run in the quick form only, on PyTorch's own kernels; results are the same",
    )


def check_settings() -> Iterator[Finding]:
    """Variables that are set, their effect, and whether their values are valid."""
    seen = False
    for variable in VARIABLES:
        if not env.is_set(variable.name):
            continue
        seen = True
        assignment = f"{variable.name}={env.raw(variable.name)}"
        try:
            env.get(variable.name)
        except Error as error:
            yield Finding("problem", "environment", error.message)
            continue
        level = "note" if variable.effect == "honoured" else "warning"
        yield Finding(level, "environment", f"{assignment}: {variable.effect}. {variable.meaning}")
    if not seen:
        yield Finding("ok", "environment", "no environment variable of Tremula is set (`tremula settings`)")


def check_machine() -> Iterator[Finding]:
    """The virtual IPUs and the executable cache."""
    try:
        system = systems.current()
        model_only = systems.model_only()
        cache = env.get("POPTORCH_CACHE_DIR")
    except Error:
        return  # check_settings has reported it
    if model_only or system is None:
        text = "an IPU model without a limit on IPUs, as without hardware (TREMULA_VIRTUAL_IPUS, POPTORCH_IPU_MODEL)"
    else:
        text = (
            f"{system.ipus} of {system.hardware.title} ({system.chosen_by}). Programs see them as hardware; this "
            "host's CPU does the work (`tremula system`)."
        )
    yield Finding("ok", "virtual IPUs", text)
    folder = cache or str(default_root())
    distrust = code_distrust(folder)
    if distrust is not None:
        yield Finding("warning", "cache", f"{folder} is not used: {distrust}")
    elif (problem := write_problem(Path(folder))) is not None:
        text = (
            f"{folder} cannot be written ({problem}), so compiled code is not kept. Make it writable, or set"
        )
        variable = "POPTORCH_CACHE_DIR" if cache else "TREMULA_CACHE_DIR"
        yield Finding("warning", "cache", f"{text} {variable} to another folder.")
    else:
        there = "" if os.path.isdir(folder) else " (not created yet)"
        yield Finding("ok", "cache", f"{folder}{there}: compiled code of this user (`tremula cache ls`)")


def check_state() -> Iterator[Finding]:
    """Whether the folder for locks, counters and records is usable."""
    state = state_folder()
    if state.problem:
        yield Finding("warning", "state", state.warning)
    elif (problem := write_problem(state.path)) is not None:
        yield Finding(
            "problem",
            "state",
            f"{state.path} cannot be written ({problem}), so programs get no virtual IPUs. Set TREMULA_STATE_DIR to a "
            "writable folder.",
        )
    elif (distrust := folder_distrust(state.path)) is not None:
        yield Finding(
            "problem",
            "state",
            f"{state.path} is not used, so programs get no virtual IPUs: {distrust}, or set TREMULA_STATE_DIR to "
            "another folder.",
        )
    else:
        yield Finding("ok", "state", f"{state.path}: users of the virtual IPUs, and records of runs")


def check_ledger() -> Iterator[Finding]:
    """Whether the last programs executed their wrapped models."""
    runs = ledger.read()
    if not runs:
        yield Finding("note", "runs", "no program has wrapped a model yet; try `tremula demo`")
        return
    for run in runs[-3:]:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.ended))
        program = _program_name(run)
        executed = ", ".join(
            f"{entry.kind} {entry.model}: {entry.calls:,} calls, {entry.samples:,} samples"
            for entry in run.models
            if entry.calls
        )
        idle = ", ".join(f"{entry.kind} {entry.model}" for entry in run.models if not entry.calls)
        if executed:
            yield Finding("ok", "runs", f"{when} {program}: {executed}")
        if idle:
            level = "note" if executed else "warning"
            yield Finding(level, "runs", f"{when} {program}: wrapped but never executed: {idle}")


def _program_name(run: ledger.Run) -> str:
    """The name of the file, or the module given to `python -m`."""
    path = Path(run.program)
    return f"python -m {path.parent.name}" if path.name == "__main__.py" else path.name


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    check_python, check_torch, check_tensorflow, check_conflicts, check_import, check_compiler, check_settings,
    check_machine, check_state, check_ledger,
)  # fmt: skip


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(args: argparse.Namespace) -> int:
    findings = [finding for check in CHECKS for finding in check()]
    problems = sum(finding.level == "problem" for finding in findings)
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
        return 1 if problems else 0
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        style = _STYLES[finding.level]
        table.add_row(f"[{style}]{finding.level}[/{style}]", finding.about, escape(plain(finding.text)))
    console = Console(highlight=False, emoji=False)
    console.print(f"Tremula {__version__}")
    console.print(table)
    console.print("No problems found." if not problems else f"Problems found: {problems}.")
    return 1 if problems else 0


COMMAND = Command("doctor", "check this environment and explain problems", _add_arguments, _run)
