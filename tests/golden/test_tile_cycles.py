"""Cycles of single vertices that were measured on hardware.

Source: graphcore-research/tessellate-ipu tests, one tile of Mk2, fp32; the counter's own cost is included. Of the
scaled addition one constant is fitted to the four figures; setups of the other vertices are fitted to the figure
itself, so those tests guard the formulas and say nothing about unseen sizes.
"""

import pytest

from tremula.hardware.catalogue import chip
from tremula.plan.vertices.registry import vertex_cycles


@pytest.mark.parametrize(("elements", "measured"), [(64, 375), (128, 467), (256, 665), (512, 1_043)])
def test_scaled_addition(elements: int, measured: int) -> None:
    cycles = vertex_cycles("scaled_add", chip("mk2"), elements=elements, dtype="fp32", counted=True)
    assert cycles == pytest.approx(measured, rel=0.01)


@pytest.mark.parametrize(
    ("vertex", "elements", "measured"), [("rotation2d", 512, 1_436), ("qr_householder_row_update", 256, 683)]
)
def test_loops_fitted_to_their_measurement(vertex: str, elements: int, measured: int) -> None:
    assert vertex_cycles(vertex, chip("mk2"), elements=elements, counted=True) == pytest.approx(
        measured, rel=0.02
    )


def test_dot_product_keeps_its_bound() -> None:
    assert vertex_cycles("dot_product1d", chip("mk2"), elements=512, counted=True) <= 800
