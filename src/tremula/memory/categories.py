"""What the bytes on a tile are for.

Always live: there for the whole run. Not always live: only between two points of the step, so that several
tensors may take the same place. Gaps are bytes that nothing can use, because the operands of fast vertices must
lie in different memory elements.
"""

from __future__ import annotations

import enum


class Category(enum.Enum):
    """A use of tile memory, in the order of reports."""

    WEIGHTS = "weights"
    BUFFERS = "buffers"
    OPTIMIZER_STATE = "optimizer state"
    ACCUMULATORS = "gradient accumulators"
    STASHES = "pipeline stashes"
    CONSTANTS = "constants"
    IO_BUFFERS = "host I/O buffers"
    VERTEX_CODE = "vertex code"
    VERTEX_STATE = "vertex state"
    EXCHANGE_CODE = "exchange code"
    CONTROL_CODE = "control code"
    STACKS = "stacks"
    ACTIVATIONS = "activations"
    TEMPORARIES = "temporaries"
    GAPS = "gaps"

    __hash__ = object.__hash__  # members are single objects; the default goes through their names

    @property
    def always_live(self) -> bool:
        """Whether the bytes are there for the whole run."""
        return self not in (Category.ACTIVATIONS, Category.TEMPORARIES)


#: supervisor and six workers: 3,852,288 bytes on the 1,216 tiles of a Mk1 (profile of a TensorFlow program)
STACK_BYTES_PER_TILE = 3_168

#: bytes lost between tensors over bytes used. An assumption: no value is published; 3 to 8 % are likely
GAP_SHARE = 0.05
