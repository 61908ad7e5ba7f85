"""The exception classes of PopART that errors about graphs have."""

from __future__ import annotations

import popart
from tremula.frontends.popxl import errors, runtime_errors


class _GraphError(RuntimeError):
    """An error about a graph, while `popart` has no class for it."""


class _ApplicationError(RuntimeError):
    """An error of a running program, while `popart` has no class for it."""


def _class_of(name: str, default: type[Exception]) -> type[Exception]:
    try:
        found = getattr(popart, name)
    except AttributeError:
        return default
    return found


def graph_error_class() -> type[Exception]:
    """`popart.popart_exception`."""
    return _class_of("popart_exception", _GraphError)


def _graph_error(text: str) -> Exception:
    return graph_error_class()(text)


def _application_error(text: str) -> Exception:
    return _class_of("poplar_application_runtime_error", _ApplicationError)(text)


errors.raise_as(_graph_error)
runtime_errors.raise_as(_application_error)
