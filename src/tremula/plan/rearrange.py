"""Copies within a tile.

Long runs move a word of the data path per cycle, all workers together; short runs cost per run, and runs that are no
whole words far more. Sources: osmarks/ipu-stack (288 cycles per call, 8 B/cycle) and the regression of PopLibs
poplin/ConvModel.cpp (587 + 0.44, 3.125 or 5.148 cycles per byte for atoms of 8, 4 or 2 bytes).
"""

from __future__ import annotations

from tremula.hardware.chip import Chip
from tremula.plan.spread import ceil_div

SOURCE = "osmarks/ipu-stack; PopLibs poplin/ConvModel.cpp"

#: cycles of a call of the copy of long runs, and of one that gathers smaller atoms
_LONG_CALL, _ATOMS_CALL = 288, 587
#: cycles of all workers per run of words besides the words themselves, per atom of 4 and per atom of 2 bytes or less
_PER_RUN, _PER_WORD, _PER_HALF = 2.5, 12.5, 10.3


def rearrange_cycles(bytes_on_tile: float, run_bytes: int, chip: Chip) -> float:
    """Cycles of a tile that brings `bytes_on_tile` into another order, in runs of `run_bytes`."""
    if bytes_on_tile <= 0:
        return 0.0
    word = chip.memcpy_bytes_per_cycle
    if run_bytes >= bytes_on_tile:
        return float(_LONG_CALL + -(-bytes_on_tile // word))
    runs = -(-bytes_on_tile // max(1, run_bytes))
    words, rest = divmod(max(1, run_bytes), word)
    per_run = words + (_PER_RUN if words else 0.0)
    if rest >= 4:
        per_run += _PER_WORD
    if rest % 4:
        per_run += _PER_HALF * ceil_div(rest % 4, 2)
    return float((_ATOMS_CALL if rest else _LONG_CALL) + runs * per_run)
