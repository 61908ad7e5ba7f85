"""Changes of a program as lines of PopTorch: what `tremula.study.dialect.Dialect` asks of a front end.

Tests run the lines. Changes inside `forward` are hooks, so that no source has to be edited to try them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tremula.formatting import quoted
from tremula.frontends.torch.dialect.module_paths import access
from tremula.program.stages import fewest_micro_batches
from tremula.program.variant import StageStart
from tremula.schedule.deployment import Location

if TYPE_CHECKING:
    import torch

Lines = tuple[str, ...]

_RECOMPUTATION = 'options._Popart.set("autoRecomputation", {})  # {}'
_SETTERS = {"optimizer_state": "setOptimizerLocation", "accumulators": "setAccumulatorLocation"}


class TorchCode:
    """Lines for one model (see `Dialect`); without its module, submodules are written by their names alone.

    The program has `options` and `inputs`, those of one micro-batch.
    """

    front_end = "torch"
    accumulation_setting = "poptorch.Options().Training.gradientAccumulation"
    iterations_setting = "poptorch.Options().deviceIterations"
    host_block = "poptorch.CPU"
    half_precision: Lines = (
        "model.half()",
        "inputs = tuple(x.half() if x.is_floating_point() else x for x in inputs)  # and what the loader yields",
    )
    half_partials: Lines = ("options.Precision.setPartialsType(torch.half)",)
    half_accumulators: Lines = (
        "optimizer.accum_type = torch.float16  # or accum_type=torch.float16 where it is made",
    )
    last_results: Lines = ("options.outputMode(poptorch.OutputMode.Final)",)

    def __init__(self, module: torch.nn.Module | None = None) -> None:
        self._module = module

    def stages(self, starts: Sequence[StageStart], *, name: str = "model", replace: bool = False) -> Lines:
        """A block for each stage after the first."""
        lines = [f"poptorch.removeBlocks({name})"] if replace else []
        for module, ipu in starts:
            where = access(module, self._module, name)
            call = f"poptorch.BeginBlock({where}, {quoted(module)}, ipu_id={ipu})"
            # a module cannot be assigned to a call; the hook that BeginBlock puts on is enough
            lines.append(call if where.endswith(")") else f"{where} = {call}")
        return tuple(lines)

    def assignment(self, starts: Sequence[StageStart]) -> list[tuple[str, int]]:
        """Blocks say where stages begin; modules are not listed."""
        return []

    def micro_batches(self, wanted: int, stages: int, training: bool) -> int:
        """Any number from that of all stages on."""
        return max(wanted, fewest_micro_batches(stages, training))

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
        """The options that go with blocks."""
        name = name or "options"
        lines = [
            f"{name}.setExecutionStrategy(poptorch.PipelinedExecution(poptorch.AutoStage.AutoIncrement))"
        ]
        if ipus & (ipus - 1):
            lines.append(f"{name}.autoRoundNumIPUs(True)  # hardware hands out powers of two")
        setting = "Training.gradientAccumulation" if training else "deviceIterations"
        return (*lines, f"{name}.{setting}({micro_batches})  # at least {needed}")

    def device_iterations(self, count: int) -> Lines:
        return (f"options.deviceIterations({count})",)

    def accumulation(self, count: int) -> Lines:
        return (f"options.Training.gradientAccumulation({count})",)

    def micro_batch(self, samples: int) -> Lines:
        loader = "poptorch.DataLoader(options, dataset, batch_size=batch_size)"
        return (f"batch_size = {samples}  # of the data loader: {loader}",)

    def replicas(self, count: int) -> Lines:
        return (f"options.replicationFactor({count})",)

    def recomputation(self, mode: Literal["none", "norms"]) -> Lines:
        words = (0, "none") if mode == "none" else (2, "norms and element-wise ops only")
        return (_RECOMPUTATION.format(*words),)

    def checkpoints(self, modules: Sequence[str]) -> Lines:
        """Marks on the results of layers."""
        names = ", ".join(access(path, self._module) for path in modules)
        mark = "poptorch.recomputationCheckpoint(result)"
        return (
            _RECOMPUTATION.format(3, "all but checkpoints"),
            f"for layer in ({names},):",
            f"    layer.register_forward_hook(lambda module, args, result: {mark})",
        )

    def memory_proportions(self, shares: Mapping[int, float]) -> Lines:
        """The option replaces what was set before, so all IPUs are named."""
        written = ", ".join(f'"IPU{ipu}": {share:g}' for ipu, share in sorted(shares.items()))
        return (f"options.setAvailableMemoryProportion({{{written}}})",)

    def memory_proportion(self, module: str, share: float) -> Lines:
        """A hook on the result of one layer."""
        return (
            f"{access(module, self._module)}.register_forward_hook(",
            f"    lambda module, args, result: poptorch.set_available_memory(result, {share:g}))",
        )

    def location(self, tensors: Literal["optimizer_state", "accumulators"], location: Location) -> Lines:
        setting = "poptorch.TensorLocationSettings()"
        if not location.on_chip:
            setting += ".useOnChipStorage(False)"
        if location.sharded:
            setting += ".useReplicatedTensorSharding(True)"
        if location.smallest_elements != Location.smallest_elements:
            setting += f".minElementsForOffChip({location.smallest_elements})"
        return (f"options.TensorLocations.{_SETTERS[tensors]}({setting})",)

    def prefetch(self, depth: int) -> Lines:
        return (f'options._Popart.set("defaultPrefetchBufferingDepth", {depth})',)

    def overlap(self, io_tiles: int, *, accumulation_loop: bool, sum_results: bool) -> Lines:
        loop = "Accumulation" if accumulation_loop else "DeviceIteration"
        output = ("options.outputMode(poptorch.OutputMode.Sum)  # overlap needs All or Sum",)
        return (
            f"options.TensorLocations.numIOTiles({io_tiles})",
            "options.setExecutionStrategy(poptorch.ShardedExecution())  # overlap is not for pipelines",
            *(output if sum_results else ()),
            "model.register_forward_pre_hook(lambda module, args: poptorch.set_overlap_for_input(",
            f"    args, poptorch.OverlapMode.Overlap{loop}Loop), prepend=True)",
        )

    def input_dtype(self, inputs: Sequence[int], dtype: str) -> Lines:
        """Inputs cast on the host, and back by a hook on the device."""
        chosen = f"{{{', '.join(map(str, inputs))}}}"
        sent = f"x.to(torch.{dtype}) if i in {chosen} else x for i, x in enumerate(inputs)"
        return (
            f"inputs = tuple({sent})  # better in the dataset",
            "model.register_forward_pre_hook(lambda module, args: tuple(",
            f"    x.to(next(module.parameters()).dtype) if i in {chosen} else x for i, x in enumerate(args)))",
        )
