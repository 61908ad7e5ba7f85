"""The exception classes of PopART that errors about graphs have."""

from __future__ import annotations

import popart
from tremula.frontends.popxl import errors, runtime_errors


def graph_error_class() -> type[Exception]:
    """`popart.popart_exception`."""
    return popart.popart_exception


def _graph_error(text: str) -> Exception:
    return graph_error_class()(text)


def _application_error(text: str) -> Exception:
    return popart.poplar_application_runtime_error(text)


errors.raise_as(_graph_error)
runtime_errors.raise_as(_application_error)
