"""What is said by entry points for front ends that do not exist here."""

from __future__ import annotations

from typing import NoReturn

from tremula.errors import Error


def refuse(what: str, front_end: str) -> NoReturn:
    """Say that a front end is not there, and what is.

    Raises:
        Error: always.
    """
    raise Error(
        f"{what}: programs for {front_end} do not run here yet, only PyTorch ones do. With PopTorch, use "
        "popdist.poptorch.Options() in the place of poptorch.Options().",
        type="popdist_error",
    )
