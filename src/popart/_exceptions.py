"""The exceptions of PopART, and how errors of the engine become them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tremula.errors import Error

from ._enums import RecoveryAction

#: what a program says that stops itself
ABORTED = "Abort Program"


class popart_exception(RuntimeError):
    """An error of PopART."""


class popart_internal_exception(popart_exception):
    """A fault of PopART itself."""


class popart_runtime_error(popart_exception):
    """An error while a program runs."""


class poplibs_exception(RuntimeError):
    """An error of the libraries of ops."""


class poplar_exception(RuntimeError):
    """An error of the graph compiler or the runtime."""


class poplar_runtime_error(poplar_exception):
    """An error of the runtime."""


class poplar_application_runtime_error(poplar_runtime_error):
    """The program failed on the device."""


class poplar_system_runtime_error(poplar_runtime_error):
    """The device failed."""


class poplar_recoverable_runtime_error(poplar_system_runtime_error):
    """The device failed, and a reset helps."""

    def __init__(self, *args: object, action: RecoveryAction = RecoveryAction.IPU_RESET) -> None:
        super().__init__(*args)
        self._action = action

    def getRecoveryAction(self) -> RecoveryAction:
        """The recovery action."""
        return self._action


class poplar_unrecoverable_runtime_error(poplar_system_runtime_error):
    """The device failed for good."""


class poplar_unknown_runtime_error(poplar_system_runtime_error):
    """The device failed, and nothing more is known."""


class OutOfMemoryException(popart_exception):
    """A program does not fit on the device."""

    def __init__(self, error: object, report: str = "", path: str = "") -> None:
        super().__init__(str(error))
        self.error = error
        self._report, self._path = report, path

    def getSummaryReport(self) -> str:
        """The requirements of the program as text."""
        return self._report

    def getProfilePath(self) -> str:
        """The profile file; empty if there is none."""
        return self._path


@contextlib.contextmanager
def popart_errors() -> Iterator[None]:
    """Errors of the engine inside are PopART's outside."""
    try:
        yield
    except Error as problem:
        kind: type[Exception] = popart_exception
        if ABORTED in problem.message:
            kind = poplar_application_runtime_error
        found = kind(problem.message)
        note = getattr(problem, "note", "")
        if note:
            found.add_note(note)
        raise found from problem


__all__ = [
    "OutOfMemoryException",
    "popart_exception",
    "popart_internal_exception",
    "popart_runtime_error",
    "poplar_application_runtime_error",
    "poplar_exception",
    "poplar_recoverable_runtime_error",
    "poplar_runtime_error",
    "poplar_system_runtime_error",
    "poplar_unknown_runtime_error",
    "poplar_unrecoverable_runtime_error",
    "poplibs_exception",
]
