"""Who answers questions about TensorFlow programs: the package that users' programs import says so. Light to import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tremula.frontends.tensorflow.modelling.subject import TensorFlowSubject
    from tremula.profile.model import Advice

Make = Callable[[], "TensorFlowSubject"]


class Questions(Protocol):
    """Answers for a program that is about to run for the first time."""

    def answer(self, subject: Make) -> None:
        """Answer what was asked about a program, if anything was; that may end the process."""

    def advise(self, subject: Make) -> Sequence[Advice]:
        """What to change about a program, best first."""


class _NoQuestions:
    def answer(self, subject: Make) -> None:
        pass

    def advise(self, subject: Make) -> Sequence[Advice]:
        return ()


_current: Questions = _NoQuestions()


def current() -> Questions:
    """Who answers in this process."""
    return _current


def answer_with(questions: Questions) -> None:
    """Let these answer in this process."""
    global _current
    _current = questions
