"""A vertex with one plain loop, estimated from its source: vertices that are not PopLibs's.

Workers cut the vectors between them; each sets up, then takes `cycles_per_vector` per vector and pass. A worker
issues one instruction per cycle, or two if one of them loads or stores and the other computes. The named vertices
are those of graphcore-research/tessellate-ipu: cycles per vector from their inner loops, setup and prologues chosen to
meet the cycles on hardware (Mk2) that its tests state. Those figures are fitted, not predicted.
"""

from __future__ import annotations

from collections.abc import Callable

from tremula.hardware.chip import Chip
from tremula.plan.elementwise_vertices import COUNTER_CYCLES, turns

SOURCE = "inner loops of graphcore-research/tessellate-ipu vertices; setup fitted to its measured cycles"

#: cycles of a worker to find its share, unpack pointers and return (fitted)
_SETUP = 30


def loop_cycles(
    elements: int,
    dtype: str,
    cycles_per_vector: float,
    chip: Chip,
    *,
    passes: int = 1,
    prologue: float = 5,
    setup: float = _SETUP,
    counted: bool = False,
) -> float:
    """Cycles of a tile; `prologue`: of a worker before and after each pass; `counted`: as a counter shows it."""
    vectors = turns(elements, chip.vector_width(dtype), chip)
    worker = setup + passes * (prologue + cycles_per_vector * vectors)
    return chip.worker_contexts * worker + (COUNTER_CYCLES if counted else 0)


def rotation_cycles(elements: int, chip: Chip, counted: bool = False) -> float:
    """Two rows turned by an angle: two passes of a x + b y, two bundles per vector, the pipeline filled first."""
    return loop_cycles(elements, "fp32", 2, chip, passes=2, prologue=11, counted=counted)


def row_update_cycles(elements: int, chip: Chip, counted: bool = False) -> float:
    """A Householder reflection of a row: two loads and a store per vector, arithmetic beside them."""
    return loop_cycles(elements, "fp32", 3, chip, counted=counted)


def dot_product_cycles(elements: int, chip: Chip, counted: bool = False) -> float:
    """A dot product: two loads per vector, arithmetic beside them."""
    return loop_cycles(elements, "fp32", 2, chip, prologue=4, counted=counted)


LOOP_VERTICES: dict[str, Callable[..., float]] = {
    "loop": loop_cycles,
    "rotation2d": rotation_cycles,
    "qr_householder_row_update": row_update_cycles,
    "dot_product1d": dot_product_cycles,
}
