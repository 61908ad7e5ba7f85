"""The host's C++ compiler: found once, asked for preprocessed text and for shared libraries."""

from __future__ import annotations

import functools
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tremula.frontends.poplar.errors import GraphProgramCompilationError
from tremula.settings import env

_NAMES = ("c++", "g++", "clang++")
_SECONDS = 600
#: of the compiler's messages
_MOST_LINES = 60
HALF_FLAG = "-mf16c"
#: results are those of the chip's single precision: no contraction to fused operations, no reordering
_COMMON = (
    "-std=c++17", "-O2", "-fPIC", "-w", "-fno-access-control", "-fno-strict-aliasing", "-fwrapv", "-ffp-contract=off",
    "-fno-builtin-printf", "-fno-builtin-puts", "-fno-builtin-putchar", "-U_FORTIFY_SOURCE", "-fvisibility=hidden",
)  # fmt: skip
_GCC = ("-fpermissive",)
#: without the inline functions of the C library: Clang takes our putchar for a second definition of its own
_CLANG = ("-D__NO_INLINE__",)


@dataclass(frozen=True)
class Compiler:
    """A compiler: its command, and what tells it from others."""

    command: tuple[str, ...]
    identity: str

    @property
    def is_gcc(self) -> bool:
        """Whether it is GCC, which accepts more of what the chip's compiler accepts."""
        return "clang" not in self.identity

    @property
    def flags(self) -> tuple[str, ...]:
        """What every codelet is compiled with."""
        own = _GCC if self.is_gcc else _CLANG
        return (*_COMMON, *own, *_half_flags())

    def run(self, arguments: Sequence[str], what: str) -> str:
        """Its output; a failure is an error with its messages."""
        command = [*self.command, *arguments]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False,
                env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise GraphProgramCompilationError(
                f"{what} was not compiled within {_SECONDS} seconds; the command was: {shlex.join(command)}"
            ) from None
        except OSError as problem:
            raise GraphProgramCompilationError(
                f"{self.command[0]} cannot be started: {problem.strerror or problem}"
            ) from None
        if done.returncode:
            raise CompilerFailed(what, done.stderr)
        return done.stdout


class CompilerFailed(GraphProgramCompilationError):  # type: ignore[valid-type, misc]
    """The compiler refused a codelet; `messages` is what it said."""

    def __init__(self, what: str, messages: str) -> None:
        lines = messages.strip().splitlines()
        more = [f"... and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
        super().__init__("\n".join([f"{what} does not compile:", *lines[:_MOST_LINES], *more]))
        self.what, self.messages = what, messages


@functools.cache
def _half_flags() -> tuple[str, ...]:
    """The flag for instructions that convert half, where this processor has them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ()
    flags = next((line.split() for line in text.splitlines() if line.startswith("flags")), [])
    return (HALF_FLAG,) if "f16c" in flags else ()


@functools.cache
def _named(named: str) -> Compiler | None:
    wanted = [shlex.split(named)] if named else [[each] for each in _NAMES]
    for words in wanted:
        path = shutil.which(words[0]) if words else None
        if path is None:
            continue
        try:
            version = subprocess.run(
                [path, "--version"], capture_output=True, text=True, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if version.returncode == 0:
            first = version.stdout.splitlines()[0]
            identity = f"{path} {shlex.join(words[1:])} {first} {platform.machine()} {sys.platform}"
            return Compiler((path, *words[1:]), identity)
    return None


def find() -> Compiler | None:
    """The compiler named by TREMULA_CXX, or the first of c++, g++ and clang++; None where there is none."""
    return _named(env.get("TREMULA_CXX") or "")


def require(what: str) -> Compiler:
    """The compiler; without one, an error that says what to do."""
    found = find()
    if found is None:
        named = env.get("TREMULA_CXX")
        problem = (
            f"the compiler {named!r} (TREMULA_CXX) does not run" if named else "there is no C++ compiler"
        )
        raise GraphProgramCompilationError(
            f"{what} is a codelet in C++, and {problem}. Install one (`apt install g++`, `dnf install gcc-c++`, "
            "`xcode-select --install`) or name one with TREMULA_CXX. Codelets written as Python classes work without."
        )
    return found


def usable(flags: Sequence[str]) -> list[str]:
    """Flags without those for instructions that this processor has not: sources may come from another computer."""
    return [each for each in flags if each != HALF_FLAG or each in _half_flags()]


def library_flags(compiler: Compiler) -> list[str]:
    """What makes a shared library whose functions call each other first."""
    if sys.platform == "darwin":
        return ["-dynamiclib"]
    return ["-shared", "-Wl,-Bsymbolic"]


def write(path: Path, text: str) -> Path:
    """Write a source file for the compiler."""
    path.write_text(text, encoding="utf-8")
    return path
