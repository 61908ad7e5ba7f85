"""What a report of the original stack holds and one of the chip model does not."""

from __future__ import annotations

from tremula.errors import Error


class NotModelled(AttributeError, Error):
    """The attribute is one of the original's that the chip model has nothing to say about.

    `hasattr` is false for such an attribute, as it is in versions of the original that lack it.
    """

    def __init__(self, what: str, instead: str = "") -> None:
        AttributeError.__init__(self)
        text = f"{what} is not modelled, so a profile of ours has no value for it"
        Error.__init__(self, f"{text}. {instead}" if instead else f"{text} (docs/pva.md).", type="pva_error")
