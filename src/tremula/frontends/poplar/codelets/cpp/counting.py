"""Cycles of compiled codelets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tremula.frontends.poplar.codelets.codelet import CycleEstimate, EstimateSource, Shapes

if TYPE_CHECKING:
    from tremula.frontends.poplar.codelets.cpp.codelet import CppCodelet


def estimate(codelet: CppCodelet, shapes: Shapes) -> CycleEstimate:
    """Six instructions for each element of all fields."""
    elements = np.sum([*shapes.elements.values(), np.zeros(shapes.count)], axis=0)
    return CycleEstimate(20.0 + 6.0 * elements, EstimateSource.GUESSED)
