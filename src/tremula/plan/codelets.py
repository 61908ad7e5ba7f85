"""Bytes that a compute set keeps on a tile: its codelet, the state of its vertices, the code that starts it.

The vendor publishes no sizes of codelets. Those below are assumptions of this model. For scale: the assembly files of
PopLibs that hold several variants each have 35 (Bernoulli) to 480 (reductions) instructions of 4 bytes. They serve to
rank ops, not to account for bytes; the words of state and the control instructions are assumptions too.
"""

from __future__ import annotations

from tremula.hardware.chip import Chip
from tremula.plan.cost import Bytes

#: bytes of code of one codelet, by kind
CODE_BYTES = {
    "unary": 256,
    "binary": 384,
    "broadcast": 384,
    "fused": 512,
    "nonlinearity": 512,
    "scaled": 384,
    "select": 256,
    "library": 1536,  # sin, pow ...: calls into the compiled mathematics library
    "cast": 384,
    "reduce": 768,
    "random": 384,
    "copy": 768,
    "fill": 128,
}
SOURCE = "assumption of this model; no sizes are published"

#: words of one vertex besides a word per edge: counts, scales, worker division
_STATE_WORDS = 3
#: instructions of the supervisor per compute set: call, start of workers, wait, sync, call of the exchange
_CONTROL_INSTRUCTIONS = 12


def compute_set_bytes(
    kind: str,
    chip: Chip,
    *,
    edges: int = 2,
    vertices: int = 1,
    temporary: float = 0,
    exchange_code: int = 0,
    compute_sets: int = 1,
) -> Bytes:
    """Bytes on one tile for `vertices` vertices of `kind` with `edges` tensors each."""
    return Bytes(
        temporary=int(temporary),
        vertex_code=CODE_BYTES[kind],
        vertex_state=4 * vertices * (edges + _STATE_WORDS),
        exchange_code=exchange_code,
        control_code=compute_sets * _CONTROL_INSTRUCTIONS * chip.instruction_bytes,
    )
