"""The exception of the libraries. Its name is the one that programs catch."""

from __future__ import annotations

from tremula.frontends.poplar.errors import PoplarError


class PoplibsError(PoplarError):
    """A library function was given operands or arguments that it cannot work with."""

    type_name = "poplibs_error"
