"""Changes of programs that are not a Keras model: of sessions, estimators and `strategy.run`.

The chip model knows such a program as a traced graph, not the names that it uses. Settings of the device are lines for
`config`, an IPUConfig that is not in use yet; other changes are comments that say what to change. Nothing here imports
TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tremula.formatting import quoted
from tremula.frontends.tensorflow.dialect.statements import library_options, micro_batches_of_schedule
from tremula.program.variant import StageStart
from tremula.schedule.deployment import Location

Lines = tuple[str, ...]

_PIPELINE = "ipu.pipelining_ops.pipeline"
_ACCUMULATING = "GradientAccumulationOptimizerV2"


class SessionCode:
    """Lines for one program (see `tremula.study.dialect.Dialect`).

    Args:
        training: whether it updates weights.
        options: of its pipeline and its accumulating optimizer, by name, as they were noted in its graph.
        ipus: that one replica takes.
    """

    front_end = "tensorflow"
    accumulation_setting = (
        f"gradient_accumulation_count of {_PIPELINE}, or num_mini_batches of {_ACCUMULATING}"
    )
    iterations_setting = (
        f"the count of ipu.loops.repeat, repeat_count of {_PIPELINE}, or iterations_per_loop of an estimator"
    )
    host_block = "ipu.scopes.outside_compilation_scope"

    def __init__(self, *, training: bool, options: Mapping[str, Any] | None = None, ipus: int = 1) -> None:
        noted = options or {}
        self._training, self._ipus = training, ipus
        self._pipelined = "device_mapping" in noted
        self._schedule = str(noted.get("schedule", "Grouped")).lower()
        accumulates = self._pipelined or "num_mini_batches" in noted
        #: who takes the options of updates
        self._updates = (_PIPELINE if self._pipelined else _ACCUMULATING) if accumulates else ""
        self.half_precision: Lines = (
            "# create variables and inputs of the computation as tf.float16, or cast them",
        )
        self.half_partials: Lines = library_options("partialsType", "half")
        name = "gradient_accumulation_dtype" if self._pipelined else "dtype"
        self.half_accumulators: Lines = self._argument(f"{name}=tf.float16") if accumulates else ()
        self.last_results: Lines = (
            "# IPUOutfeedQueue(outfeed_mode=ipu.ipu_outfeed_queue.IPUOutfeedMode.LAST)",
        )

    def stages(self, starts: Sequence[StageStart], *, name: str = "model", replace: bool = False) -> Lines:
        """What the functions of a pipeline hold."""
        if not starts:
            return ()
        mapping = [0, *(start.ipu for start in starts)]
        return (
            f"# {_PIPELINE}(computational_stages=[...], device_mapping={mapping}), where",
            *(
                f"# the function of stage {stage} begins at {quoted(start.module)}"
                for stage, start in enumerate(starts, 1)
            ),
        )

    def assignment(self, starts: Sequence[StageStart]) -> list[tuple[str, int]]:
        """Programs without a model have no list of layers."""
        return []

    def micro_batches(self, wanted: int, stages: int, training: bool) -> int:
        """As the schedule takes them."""
        return micro_batches_of_schedule(self._schedule, wanted, stages, training)

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
        """The settings that go with stages."""
        count = self.micro_batches(micro_batches, (needed + 1) // 2 if training else needed, training)
        return (
            f"{name or 'config'}.auto_select_ipus = {1 << (ipus - 1).bit_length()}",
            f"# {_PIPELINE}(gradient_accumulation_count={count})",
        )

    def device_iterations(self, count: int) -> Lines:
        """How often the loop of the device runs for each call."""
        what = "weight updates" if self._training else "micro-batches"
        setting = (
            f"repeat_count={count} of {_PIPELINE}" if self._pipelined else f"ipu.loops.repeat({count}, ...)"
        )
        return (f"# {setting}: {count} {what} in each call (iterations_per_loop of an estimator)",)

    def accumulation(self, count: int) -> Lines:
        """Micro-batches of a weight update."""
        if self._pipelined:
            return (f"# {_PIPELINE}(gradient_accumulation_count={count})",)
        return (f"# ipu.optimizers.{_ACCUMULATING}(optimizer, num_mini_batches={count})",)

    def micro_batch(self, samples: int) -> Lines:
        """The dataset says how many samples a micro-batch has."""
        return (f"# dataset.batch({samples}, drop_remainder=True)",)

    def replicas(self, count: int) -> Lines:
        """IPUs of all replicas; gradients are reduced by an optimizer, which pipelines have."""
        each = f"  # {count} replicas of {self._ipus}" if self._ipus > 1 else ""
        reduced = "# ipu.optimizers.CrossReplicaOptimizer(optimizer), unless the program has it already"
        return (
            f"config.auto_select_ipus = {count * self._ipus}{each}",
            *((reduced,) if self._training and not self._pipelined else ()),
        )

    def recomputation(self, mode: Literal["none", "norms"]) -> Lines:
        """A pipeline computes whole stages again, other programs norms and what follows them."""
        if mode == "norms" and self._pipelined:
            return ()
        return (f"config.allow_recompute = {mode == 'norms'}",)

    def checkpoints(self, modules: Sequence[str]) -> Lines:
        """Marks on results; the device reads them in pipelines only."""
        if not self._pipelined:
            return ()
        named = ", ".join(map(quoted, modules))
        return (
            "config.allow_recompute = True",
            f"# {_PIPELINE}(recomputation_mode=RecomputationMode.RecomputeAndBackpropagateInterleaved)",
            f"# ipu.pipelining_ops.recomputation_checkpoint(result) for the results of {named}",
        )

    def memory_proportions(self, shares: Mapping[int, float]) -> Lines:
        """Options of all IPUs, or of the stages on each."""
        if len(shares) >= self._ipus and len(set(shares.values())) == 1:
            return library_options("availableMemoryProportion", f"{next(iter(shares.values())):g}")
        if not self._pipelined:
            return ()
        return tuple(
            f"# {_PIPELINE}(forward_propagation_stages_poplar_options=...): stages on IPU {ipu} with "
            f'"availableMemoryProportion": "{share:g}"'
            for ipu, share in sorted(shares.items())
        )

    def memory_proportion(self, module: str, share: float) -> Lines:
        """There is no such setting for one layer."""
        return ()

    def location(self, tensors: Literal["optimizer_state", "accumulators"], location: Location) -> Lines:
        """Accumulators leave the chip in pipelines only."""
        if tensors == "accumulators":
            if not self._pipelined or location.sharded:
                return ()
            return self._argument(f"offload_gradient_accumulation_buffers={not location.on_chip}")
        if not self._updates:
            return ()
        return self._argument(
            f"offload_weight_update_variables={not location.on_chip}, "
            f"replicated_optimizer_state_sharding={location.sharded}"
        )

    def prefetch(self, depth: int) -> Lines:
        """The infeed fetches elements ahead."""
        return (f"# IPUInfeedQueue(dataset, prefetch_depth={depth})",)

    def overlap(self, io_tiles: int, *, accumulation_loop: bool, sum_results: bool) -> Lines:
        """Transfers on tiles of their own."""
        return (
            f"config.io_tiles.num_io_tiles = {io_tiles}",
            "config.io_tiles.place_ops_on_io_tiles = True",
        )

    def input_dtype(self, inputs: Sequence[int], dtype: str) -> Lines:
        """Inputs cast on the host, and back on the device."""
        which = ", ".join(map(str, inputs))
        return (f"# cast input {which} to tf.{dtype} in the dataset, and back in the computation",)

    def _argument(self, given: str) -> Lines:
        return (f"# {self._updates}(..., {given})",)
