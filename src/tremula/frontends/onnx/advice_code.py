"""Changes of a program as lines of PopART: what `tremula.study.dialect.Dialect` asks of a front end.

The program has `options`, its SessionOptions. What has no lines here is not advised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tremula.frontends.torch.dialect.advice_code import Lines, TorchCode
from tremula.program.variant import StageStart
from tremula.schedule.deployment import Location

_SETTINGS = {
    "optimizer_state": "optimizerStateTensorLocationSettings",
    "accumulators": "accumulatorTensorLocationSettings",
}


class OnnxCode(TorchCode):
    """Lines for a model that a session of PopART runs."""

    front_end = "onnx"
    accumulation_setting = "SessionOptions.accumulationFactor"
    iterations_setting = "the batches per step of popart.DataFlow"
    host_block = "the host"
    # types are those of the file
    half_precision: Lines = ()
    half_partials: Lines = ('options.partialsTypeMatMuls = "half"',)
    half_accumulators: Lines = ()
    last_results: Lines = ('anchor = popart.AnchorReturnType("Final")  # of each anchor of popart.DataFlow',)

    def stages(self, starts: Sequence[StageStart], *, name: str = "builder", replace: bool = False) -> Lines:
        """Which nodes go where is said node by node, with the builder that made them."""
        return tuple(
            f"# nodes from {module} on: builder.virtualGraph(ids, {ipu}); builder.pipelineStage(ids, {ipu})"
            for module, ipu in starts
        )

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
        name = name or "options"
        lines = (
            f"{name}.virtualGraphMode = popart.VirtualGraphMode.Manual",
            f"{name}.enablePipelining = True",
        )
        if training:
            return (*lines, *self.accumulation(micro_batches))
        return (*lines, *self.device_iterations(micro_batches))

    def device_iterations(self, count: int) -> Lines:
        return (f"batches_per_step = {count}  # popart.DataFlow(batches_per_step, anchors)",)

    def accumulation(self, count: int) -> Lines:
        return ("options.enableGradientAccumulation = True", f"options.accumulationFactor = {count}")

    def micro_batch(self, samples: int) -> Lines:
        return (f"batch_size = {samples}  # the first dimension of the inputs",)

    def replicas(self, count: int) -> Lines:
        return ("options.enableReplicatedGraphs = True", f"options.replicatedGraphCount = {count}")

    def recomputation(self, mode: Literal["none", "norms"]) -> Lines:
        kind = "NoRecompute" if mode == "none" else "NormOnly"
        return (f"options.autoRecomputation = popart.RecomputationType.{kind}",)

    def checkpoints(self, modules: Sequence[str]) -> Lines:
        return ()

    def memory_proportions(self, shares: Mapping[int, float]) -> Lines:
        return ()

    def memory_proportion(self, module: str, share: float) -> Lines:
        return ()

    def location(self, tensors: Literal["optimizer_state", "accumulators"], location: Location) -> Lines:
        setting = f"options.{_SETTINGS[tensors]}.location"
        lines = []
        if not location.on_chip:
            lines.append(f"{setting}.storage = popart.TensorStorage.OffChip")
        if location.sharded:
            lines.append(f"{setting}.replicatedTensorSharding = popart.ReplicatedTensorSharding.On")
        return tuple(lines)

    def prefetch(self, depth: int) -> Lines:
        return (f"options.defaultBufferingDepth = {depth}",)

    def overlap(self, io_tiles: int, *, accumulation_loop: bool, sum_results: bool) -> Lines:
        return ()

    def input_dtype(self, inputs: Sequence[int], dtype: str) -> Lines:
        return ()
