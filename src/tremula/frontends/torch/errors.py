"""Errors of the front end's compiler."""

from __future__ import annotations

from tremula.errors import Error


def compile_error(message: str) -> Error:
    """An error of the type that programs know from PopTorch's compiler. It is returned, not raised."""
    return Error(message, type="poptorch_cpp_error")
