"""The program as the chip model sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tremula.errors import Error
from tremula.frontends.popxl.model import Ir

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun


def modelled_run(ir: Ir) -> ModelledRun:
    """What the chip would do with the program of `ir`."""
    raise Error("not yet")
