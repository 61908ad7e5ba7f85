"""A value that reports of the original stack have and reports of the chip model do not."""

from __future__ import annotations

from tremula.errors import Error


class NotModelled(AttributeError, Error):
    """The chip model does not know this attribute of the original.

    `hasattr` is false for such an attribute, as it is in versions of the original that lack it.
    """

    def __init__(self, what: str, instead: str = "") -> None:
        AttributeError.__init__(self)
        text = f"{what} is not modelled, so Tremula's profiles have no value for it"
        Error.__init__(self, f"{text}. {instead}" if instead else f"{text} (docs/pva.md).", type="pva_error")
