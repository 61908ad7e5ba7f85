"""What programs write to the control registers of tiles: which numbers raise an error, and how results are rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tremula import log
from tremula.frontends.poplar.program.programs import Program

from ._graph import Graph


@dataclass(frozen=True)
class FloatingPointBehaviour:
    """Whether to stop on invalid operations, divisions by zero and overflows, to round stochastically, and whether an
    overflow of halves gives NaN."""

    exceptOnInv: bool = True
    exceptOnDiv0: bool = True
    exceptOnOflo: bool = True
    enableStochasticRounding: bool = True
    nanooMode: bool = True


def setFloatingPointBehaviour(
    graph: Graph, prog: Program, behaviour: FloatingPointBehaviour, debug: Any = ""
) -> None:
    """Set the handling of floating-point exceptions. It has no effect here; a message says so once."""
    log.no_effect(
        "setFloatingPointBehaviour",
        "the host computes as IEEE 754 says: exceptional numbers raise no error, halves are rounded to the nearest",
    )


def setStochasticRounding(graph: Graph, prog: Program, enable: bool, debug: Any = "") -> None:
    """Turn stochastic rounding of halves on or off. Here they are always rounded to nearest."""
    if enable:
        log.no_effect("setStochasticRounding", "halves are rounded to the nearest")
