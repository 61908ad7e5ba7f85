"""Whole programs (a path or `-m module`, then arguments) as subjects: run until they first call a wrapped model."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from tremula.errors import Error
from tremula.study.listeners import listening
from tremula.study.placed_subject import PlacedSubject

if TYPE_CHECKING:
    from tremula.study.subject import Subject

Answered = TypeVar("Answered")


def subjects_of_program(
    words: Sequence[str],
    answer: Callable[[Subject], Answered],
    *,
    go_on: bool = False,
    prints: TextIO | None = None,
    placed: Callable[[PlacedSubject], Answered] | None = None,
) -> list[Answered]:
    """Run a program until it calls a wrapped model, and give what `answer` says of that model; end it there.

    Args:
        words: the program and its arguments.
        answer: what to do with the model.
        go_on: let the program run on, and answer for every model that it compiles.
        prints: where to send what the program prints, if that is not to be among the answers.
        placed: what to do with a program that has put itself on tiles; without it such a program is an error.
    """
    as_module = list(words[:1]) == ["-m"]
    words = list(words)[as_module:]
    if not words:
        raise Error("no program was given; write program.py args... or -m module args...")
    if not as_module and not Path(words[0]).is_file():
        raise Error(f"there is no program {words[0]}")
    answered: list[Answered] = []

    failed: list[BaseException] = []

    def answer_any(subject: Subject | PlacedSubject) -> Answered:
        if not isinstance(subject, PlacedSubject):
            return answer(subject)
        if placed is None:
            raise Error(
                f"{subject.name} places its vertices on tiles itself; only `tremula estimate run` supports it"
            )
        return placed(subject)

    def listen(subject: Subject | PlacedSubject) -> None:
        try:
            with outputs.ours():
                answered.append(answer_any(subject))
        except BaseException as problem:  # kept from the program, which might catch it
            failed.append(problem)
            raise _Answered from None
        if not go_on:
            raise _Answered

    # what was wrapped and not called is expected here
    os.environ.setdefault("TREMULA_SUMMARY", "0")
    argv, path, out, started_in = sys.argv, list(sys.path), sys.stdout, Path.cwd()
    outputs = _Outputs()
    if prints is not None:
        sys.stdout = prints
    try:
        with listening(listen), _quiet_threads():
            _execute(words, as_module)
    except _Answered:
        pass
    except SystemExit as ended:
        if not answered and not failed:
            raise Error(f"the program ended ({ended.code}) before it called a wrapped model") from None
    finally:
        sys.argv, sys.path[:], sys.stdout = argv, path, out
        outputs.restore()
        with contextlib.suppress(OSError):  # the program may have gone elsewhere
            os.chdir(started_in)
    if failed:
        raise failed[0]
    if not answered:
        raise Error("nothing to estimate: the program ended without calling a wrapped model")
    return answered


class _Outputs:
    """Descriptors 1 and 2 as they are now: a program may close them, or send them elsewhere."""

    def __init__(self) -> None:
        self._kept = {number: copy for number in (1, 2) if (copy := _copied(number)) is not None}

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """While inside they are as they were at first; then again as the program left them."""
        theirs = {number: _copied(number) for number in self._kept}
        self._set(self._kept)
        try:
            yield
        finally:
            self._set(theirs)
            for copy in theirs.values():
                if copy is not None:
                    os.close(copy)

    def restore(self) -> None:
        """As they were at first, for good."""
        self._set(self._kept)
        for copy in self._kept.values():
            os.close(copy)

    @staticmethod
    def _set(copies: Mapping[int, int | None]) -> None:
        for stream in (sys.stdout, sys.stderr):  # what was printed goes where it was meant to go
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        for number, copy in copies.items():
            if copy is not None:
                os.dup2(copy, number)
            else:
                os.close(number)


def _copied(number: int) -> int | None:
    """Another descriptor for the same file; None if it is closed."""
    try:
        return os.dup(number)
    except OSError:
        return None


class _Answered(BaseException):
    """The program has been answered and need not go on; not an Exception, so that it does not catch it."""


@contextlib.contextmanager
def _quiet_threads() -> Iterator[None]:
    """While inside, a thread that ends because its model has been answered for says nothing about it."""
    before = threading.excepthook

    def hook(ended: threading.ExceptHookArgs) -> None:
        if ended.exc_type is not _Answered:
            before(ended)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


def _execute(words: list[str], as_module: bool) -> None:
    sys.argv = words
    if as_module:
        sys.path.insert(0, "")
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(words[0]).resolve().parent))
        runpy.run_path(words[0], run_name="__main__")
