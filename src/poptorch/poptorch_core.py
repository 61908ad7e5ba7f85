"""The names that programs import from PopTorch's compiled module. Here they are Python."""

from __future__ import annotations

import enum
from typing import Any

from tremula import log
from tremula.errors import Error, RecoverableError, UnrecoverableError
from tremula.frontends.torch.capture import context
from tremula.machine import attach, systems

__all__ = [
    "Error",
    "RecoverableError",
    "TestErrorType",
    "UnrecoverableError",
    "ipuHardwareIsAvailable",
    "ipuHardwareVersion",
]


class TestErrorType(enum.Enum):
    """Faults that `_throwTestError` can produce."""

    __test__ = False

    Poptorch = 0
    Popart = 1
    PopartInternal = 2
    Poplibs = 3
    PoplarUnrecoverable = 4
    PoplarUnknown = 5
    PoplarRecoverableFullReset = 6
    PoplarLinkError = 7


_ERROR_TYPES = {
    TestErrorType.Poptorch: "poptorch_cpp_error",
    TestErrorType.Popart: "popart_exception",
    TestErrorType.PopartInternal: "popart_internal_exception",
    TestErrorType.Poplibs: "poplibs_exception",
    TestErrorType.PoplarUnknown: "poplar_unknown_runtime_error",
    TestErrorType.PoplarLinkError: "poplar_link_error",
}
_LOCATION = "  [0] throwTestError::bottomLevel\n  [1] throwTestError::topLevel"


def _throwTestError(kind: TestErrorType) -> None:
    """Raise the error of that kind, so that error handling can be tried out."""
    message = f"inTestError{kind.name}"
    if kind is TestErrorType.PoplarUnrecoverable:
        raise UnrecoverableError(message, location=_LOCATION)
    if kind is TestErrorType.PoplarRecoverableFullReset:
        raise RecoverableError("inTestErrorPoplarRecoverable", location=_LOCATION)
    if kind is TestErrorType.PoplarLinkError:
        message = "inTestErrorPoplarLink. Output: -lfoo not found"
    raise Error(message, type=_ERROR_TYPES[kind], location=_LOCATION)


def ipuHardwareIsAvailable(num_ipus: int = 1) -> bool:
    """Whether this machine has `num_ipus` virtual IPUs, which programs use as hardware (`tremula system`)."""
    if systems.model_only():
        return False
    return attach.available(1 << max(0, num_ipus - 1).bit_length())


def ipuHardwareVersion() -> int:
    """Generation of the IPUs that are shown as hardware: 2 is the Mk2 and the Bow; -1 without any."""
    system = systems.current()
    return -1 if system is None else int(system.hardware.chip.architecture.removeprefix("ipu"))


def isCompilingWithDispatcher() -> bool:
    """Whether a model is being captured at this moment."""
    return context.current() is not None


def _validateOptions(options: dict[str, Any]) -> None:
    from tremula.settings import popart_options

    logger = log.layer("poptorch:cpp")
    popart_options.validate(options, lambda line: logger.debug("poptorch.Options %s", line))
