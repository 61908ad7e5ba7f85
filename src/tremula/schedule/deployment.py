"""How a program is laid over IPUs: the settings that decide when and where its ops run and its tensors live.

Loop counts (device iterations, accumulation, replicas) belong to the program; everything else that the
user's options say about the device is here, in plain values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tremula.program.lowered import DEFAULT_PROPORTION, LoweringSettings


@dataclass(frozen=True)
class Location:
    """Where a kind of tensor lives between its uses."""

    on_chip: bool = True
    #: whether each replica keeps a part only
    sharded: bool = False
    #: tensors with fewer elements stay on the chip, unsharded
    smallest_elements: int = 8192


@dataclass(frozen=True)
class Deployment:
    """The device settings of a run."""

    #: single, sharded, pipelined, serial_phased or parallel_phased
    execution: str = "single"
    #: grouped, interleaved or sequential
    pipeline_schedule: str = "grouped"
    ipus_per_replica: int = 1
    #: none; all: everything in a stage but its inputs; checkpoints: all but what the user marked;
    #: forward ops between two checkpoints run again before their gradients
    recompute: str = "none"
    #: names of tensors (program names) that are kept for the backward pass instead of being computed again
    checkpoints: frozenset[str] = frozenset()
    #: share of tile memory that the temporaries of a matmul or convolution may take, by IPU; -1 is the default
    proportions: Mapping[int, float] = field(default_factory=lambda: {-1: DEFAULT_PROPORTION})
    #: type of partial sums, and of those that travel between tiles
    partials: str = "fp32"
    weights: Location = Location()
    optimizer_state: Location = Location()
    accumulators: Location = Location()
    activations: Location = Location()
    io_tiles: int = 0
    #: batches that the host sends ahead
    prefetch_depth: int = 1
    #: whether transfers with the host run beside the computation, which needs I/O tiles
    overlap_io: bool = False
    #: data made on the device instead of sent by the host
    synthetic_data: bool = False
    #: share of the micro-batches whose results go back to the host; None: all of inference, one of training
    returned_share: float | None = None
    #: host work per call in seconds; None: the fitted one
    call_seconds: float | None = None

    @property
    def phased(self) -> bool:
        """Whether the program runs in execution phases, which cannot be laid out anew."""
        return self.execution.endswith("phased")

    @property
    def lowering(self) -> LoweringSettings:
        """What it says about the work of single ops."""
        return LoweringSettings(partials=self.partials, proportions=self.proportions)

    def proportion(self, ipu: int) -> float:
        """Of IPU `ipu`."""
        return self.lowering.proportion(ipu)
