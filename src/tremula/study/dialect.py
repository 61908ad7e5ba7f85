"""The words of a front end: changes of a program as lines of code, and names of settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from tremula.program.variant import StageStart
from tremula.schedule.deployment import Location

Lines = tuple[str, ...]


class Dialect(Protocol):
    """Lines of code for a program that has `model`, `optimizer`, `batch_size`, and what else the front end names.

    The lines work when they run before the model is put on the device. No lines: the front end has no such setting, and
    the change is not advised.
    """

    #: its name in files
    front_end: str
    #: names of the settings in messages
    accumulation_setting: str
    iterations_setting: str
    #: what marks ops that the host runs
    host_block: str
    #: lines for model and inputs, partial sums, and gradient accumulators in half precision
    half_precision: Lines
    half_partials: Lines
    half_accumulators: Lines
    #: lines that return the results of the last micro-batch only
    last_results: Lines

    def stages(self, starts: Sequence[StageStart], *, name: str = "model", replace: bool = False) -> Lines:
        """Stages begin at these modules; `replace`: in place of those that the program has."""

    def assignment(self, starts: Sequence[StageStart]) -> Sequence[tuple[str, int]]:
        """The same as a list of layers with their stages; empty where programs have no such list."""

    def micro_batches(self, wanted: int, stages: int, training: bool) -> int:
        """The smallest number from `wanted` on that a program of so many forward stages can take."""

    def pipeline(
        self,
        ipus: int,
        training: bool,
        micro_batches: int,
        needed: int,
        *,
        name: str | None = None,
        model: str = "model",
    ) -> Lines:
        """Run stages as a pipeline on `ipus` IPUs of all replicas, with at least `needed` micro-batches.

        The program calls its settings `name` (None: as the other lines do), and the model `model`.
        """

    def device_iterations(self, count: int) -> Lines:
        """Iterations of the device's loop per call."""

    def accumulation(self, count: int) -> Lines:
        """Micro-batches per weight update."""

    def micro_batch(self, samples: int) -> Lines:
        """Samples of a micro-batch."""

    def replicas(self, count: int) -> Lines:
        """Copies of the model."""

    def recomputation(self, mode: Literal["none", "norms"]) -> Lines:
        """What is computed again before its gradient."""

    def checkpoints(self, modules: Sequence[str]) -> Lines:
        """Compute everything again but the results of these modules."""

    def memory_proportions(self, shares: Mapping[int, float]) -> Lines:
        """Share of tile memory for temporaries, by IPU."""

    def memory_proportion(self, module: str, share: float) -> Lines:
        """The same for the product of one module."""

    def location(self, tensors: Literal["optimizer_state", "accumulators"], location: Location) -> Lines:
        """Where the optimizer's state or gradient accumulators are stored."""

    def prefetch(self, depth: int) -> Lines:
        """Let the host send inputs ahead."""

    def overlap(self, io_tiles: int, *, accumulation_loop: bool, sum_results: bool) -> Lines:
        """Transfer inputs on I/O tiles while the others compute."""

    def input_dtype(self, inputs: Sequence[int], dtype: str) -> Lines:
        """Send these inputs in another dtype and cast them on the device."""
