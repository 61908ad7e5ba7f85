"""The exceptions that the engine raises and the shims pass on to the user.

Class names and attributes (`message`, `type`, `location`, `recovery_action`) are those that programs
written for the real stack catch and read; the texts are ours.
"""

from __future__ import annotations

from tremula import stack_layers
from tremula.formatting import plain


class Error(Exception):
    """A failure in the emulated stack.

    Attributes:
        message: what happened, without the origin. Names from files may be part of it, so nothing in it is left that a
            terminal would act on.
        type: the layer of the stack that raises it (`stack_layers`).
        location: the context stack inside that layer, or an empty string.
    """

    def __init__(
        self,
        message: str = "",
        *,
        type: str = stack_layers.TOP_ERROR,  # the public attribute has this name
        location: str = "",
    ) -> None:
        self.message = plain(message)
        self.type = type
        self.location = location = plain(location)
        text = f"'{type}': {self.message}"
        if location:
            text = f"{text}\nError raised in:\n{location}"
        super().__init__(text)


def about_file(error: Error, path: str) -> Error:
    """`error`, with the file at the beginning of its message unless it is named already."""
    path = plain(path)
    if path not in error.message:
        message = f"{path}: {error.message}"
        error.args = (str(error).replace(error.message, message, 1), *error.args[1:])
        error.message = message
    return error


class RecoverableError(Error):
    """A transient hardware fault: `recovery_action` says which reset helps."""

    def __init__(
        self,
        message: str = "",
        *,
        type: str = "poplar_recoverable_runtime_error",
        location: str = "",
        recovery_action: str = "FULL_RESET",
    ) -> None:
        super().__init__(message, type=type, location=location)
        self.recovery_action = recovery_action


class UnrecoverableError(Error):
    """A permanent hardware fault."""

    def __init__(
        self,
        message: str = "",
        *,
        type: str = "poplar_unrecoverable_runtime_error",
        location: str = "",
    ) -> None:
        super().__init__(message, type=type, location=location)
