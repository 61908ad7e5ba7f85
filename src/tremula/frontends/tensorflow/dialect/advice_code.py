"""Changes of a program as lines of Keras: what `tremula.study.dialect.Dialect` asks of a front end.

Tests run the lines. A setter of options replaces all that was set before, so the lines give the options that the model
has again; changes can then be made one after the other, in any order. Nothing here imports TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tremula.formatting import quoted
from tremula.frontends.tensorflow.dialect.layer_calls import LayerCall, calls_of, stages_of
from tremula.frontends.tensorflow.dialect.statements import (
    LAYER_CALLS,
    call,
    cast_inputs,
    library_options,
    merged,
    micro_batches_of_schedule,
)
from tremula.program.variant import StageStart
from tremula.schedule.deployment import Location

Lines = tuple[str, ...]

#: ends lines that have an effect only there; all others are for a model that exists
BEFORE_MODEL = "  # before the model is made"

_STEPS = "gradient_accumulation_steps_per_replica"
_METHOD = "gradient_accumulation_reduction_method"


class KerasCode:
    """Lines for one model (see `Dialect`); without an argument, what the lines need is read from the model by them.

    The program has `tf`, `ipu` (from tensorflow.python), `config` (an IPUConfig that is not in use yet), `model` (made
    under an IPUStrategy, not compiled yet), `optimizer`, `batch_size`, `steps_per_execution` for `model.compile`, and
    `dataset`, whose elements are `(inputs, targets)`.

    Args:
        training: whether the model is trained.
        mapping: the IPU of each stage of a pipelined model; empty: it is not pipelined.
        schedule: of its pipeline: grouped, interleaved or sequential.
        reduction: how the model combines gradients: sum, mean or running_mean.
        calls: the calls of its layers, for stages as a list.
    """

    front_end = "tensorflow"
    accumulation_setting = f"{_STEPS} of set_gradient_accumulation_options and set_pipelining_options"
    iterations_setting = "steps_per_execution of model.compile"
    host_block = "ipu.scopes.outside_compilation_scope"

    def __init__(
        self,
        *,
        training: bool | None = None,
        mapping: Sequence[int] = (),
        schedule: str = "grouped",
        reduction: str | None = None,
        calls: Sequence[LayerCall] = (),
    ) -> None:
        self._training, self._mapping, self._reduction = training, tuple(mapping), reduction
        self._schedule, self._calls = schedule, tuple(calls)
        self.half_precision: Lines = (
            f'tf.keras.mixed_precision.set_global_policy("mixed_float16"){BEFORE_MODEL}',
            *cast_inputs("float16", "x.dtype.is_floating"),
        )
        self.half_partials: Lines = library_options("partialsType", "half")
        self.half_accumulators: Lines = self._options(
            single={"dtype": "tf.float16"}, pipeline={"gradient_accumulation_dtype": "tf.float16"}
        )
        # without asynchronous callbacks one result of each execution leaves the device, but that of a pipeline
        means = self._options(single=None, arguments=("accumulate_outfeed=True",)) if mapping else ()
        self.last_results: Lines = ("model.set_asynchronous_callbacks(False)", *means)

    @classmethod
    def of(cls, model: Any, training: bool) -> KerasCode:
        """For a model that was made under an IPUStrategy."""
        mapping: Sequence[int] = ()
        if model._is_pipelined():
            stages = model._get_pipeline_maximum_pipeline_stage() + 1
            mapping = model._pipelining_device_mapping or range(stages)
        schedule = model._pipelining_kwargs.get("pipeline_schedule")
        return cls(
            training=training,
            mapping=mapping,
            schedule="grouped" if schedule is None else schedule.name.lower(),
            reduction=model._gradient_accumulation_reduction_method.name.lower(),
            calls=calls_of(model.get_pipeline_stage_assignment()),
        )

    def stages(self, starts: Sequence[StageStart], *, name: str = "model", replace: bool = False) -> Lines:
        """An assignment of all calls of layers; `PipelineStage` scopes, which say the same, as a comment."""
        if not starts:
            return (f"{name}.reset_pipeline_stage_assignment()",) if replace else ()
        names = ", ".join(map(quoted, (start.module for start in starts)))
        mapping = [0, *(start.ipu for start in starts)]
        flat = self._calls and not any(call.nested for call in self._calls)
        return (
            *(() if flat else LAYER_CALLS),
            f"starts = [{names}]  # the first layer of each stage after stage 0",
            f"stages, stage = {name}.get_pipeline_stage_assignment(), 0",
            "for call in stages:" if flat else "for path, call in layer_calls(stages):",
            f"    stage += {'call.layer.name' if flat else 'path'} in starts[stage:stage + 1]",
            "    call.pipeline_stage = stage",
            f"{name}.set_pipeline_stage_assignment(stages)",
            *self._pipelining([f"device_mapping={mapping}"], {}, name),
            *self._scopes(starts),
        )

    def _scopes(self, starts: Sequence[StageStart]) -> Lines:
        """The stages of a functional model as scopes around the calls of its layers."""
        by_stage: dict[int, list[str]] = {}
        for path, stage in self.assignment(starts):
            by_stage.setdefault(stage, []).append(path if path.isprintable() else quoted(path))
        if not by_stage:
            return ()
        return (
            "# the same where the model is made, without set_pipeline_stage_assignment:",
            *(
                f"# with keras.ipu.PipelineStage({stage}): {paths[0]}{f' to {paths[-1]}' * (len(paths) > 1)}"
                for stage, paths in by_stage.items()
            ),
        )

    def assignment(self, starts: Sequence[StageStart]) -> list[tuple[str, int]]:
        return stages_of(self._calls, starts)

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
        """The settings that go with stages; a number of micro-batches that the schedule cannot take is rounded up."""
        selected = 1 << (ipus - 1).bit_length()
        rounded = "  # hardware hands out powers of two" if selected != ipus else ""
        select = f"{name or 'config'}.auto_select_ipus = {selected}{rounded}"
        count = self.micro_batches(micro_batches, (needed + 1) // 2 if training else needed, training)
        why = (
            f"; modelled with {micro_batches}, which the schedule cannot take"
            if count > micro_batches
            else ""
        )
        if not training:
            return (select, f"steps_per_execution = {count}  # of compile{why}")
        return (
            select,
            *self._weight_updates(model),
            *self._pipelining([f"{_STEPS}={count}"], {}, model),
            f"steps_per_execution = {count} * updates  # of compile{why}",
        )

    def device_iterations(self, count: int) -> Lines:
        """`steps_per_execution` counts micro-batches of a replica."""
        if self._training is False:
            return (f"steps_per_execution = {count}  # of compile",)
        return (
            *self._accumulated("model"),
            f"steps_per_execution = {count} * accumulated  # of compile: {count} weight updates",
        )

    def accumulation(self, count: int) -> Lines:
        steps = (f"{_STEPS}={count}",)
        return (
            *self._weight_updates("model"),
            *self._options(single={}, pipeline={}, arguments=steps),
            f"steps_per_execution = {count} * updates  # of compile",
        )

    def micro_batch(self, samples: int) -> Lines:
        return (f"batch_size = {samples}  # of the dataset: samples of one replica and micro-batch",)

    def replicas(self, count: int) -> Lines:
        ipus = 1 << (max(self._mapping)).bit_length() if self._mapping else 1
        each = f"  # {count} replicas of {ipus}" if ipus > 1 else ""
        return (f"config.auto_select_ipus = {count * ipus}{each}",)

    def recomputation(self, mode: Literal["none", "norms"]) -> Lines:
        """A pipeline computes whole stages again, other models norms and what follows them."""
        if mode == "norms" and self._mapping:
            return ()
        return (f"config.allow_recompute = {mode == 'norms'}",)

    def checkpoints(self, modules: Sequence[str]) -> Lines:
        """Marks on the results of layers; the device reads them in pipelines only."""
        if not self._mapping:
            return ()
        names = ", ".join(map(quoted, modules))
        mode = "ipu.pipelining_ops.RecomputationMode.RecomputeAndBackpropagateInterleaved"
        return (
            "config.allow_recompute = True",
            *self._pipelining([], {"recomputation_mode": mode}),
            "def keep_result(layer):  # as a RecomputationCheckpoint layer after it",
            "    call = layer.call",
            "    mark = ipu.pipelining_ops.recomputation_checkpoint",
            "    layer.call = lambda *args, **kwargs: mark(call(*args, **kwargs))",
            *LAYER_CALLS,
            "layers = {path: call.layer for path, call in layer_calls(model.get_pipeline_stage_assignment())}",
            f"for path in [{names}]:",
            "    keep_result(layers[path])",
        )

    def memory_proportions(self, shares: Mapping[int, float]) -> Lines:
        """Options of all IPUs, or of the stages on each."""
        ipus = set(self._mapping) or {0}
        if set(shares) >= ipus and len(set(shares.values())) == 1:
            return library_options("availableMemoryProportion", f"{next(iter(shares.values())):g}")
        written = ", ".join(f'{ipu}: "{share:g}"' for ipu, share in sorted(shares.items()))
        flags = '{"availableMemoryProportion": shares[i]} if i in shares else None'
        return (
            f"shares = {{{written}}}  # by IPU",
            f"flags = [{flags} for i in {list(self._mapping)}]  # by stage",
            "stage_options = [ipu.pipelining_ops.PipelineStageOptions(each, each) for each in flags]",
            *self._pipelining(
                [],
                {
                    "forward_propagation_stages_poplar_options": "stage_options",
                    "backward_propagation_stages_poplar_options": "stage_options",
                },
            ),
        )

    def memory_proportion(self, module: str, share: float) -> Lines:
        """Keras has no such setting for one layer."""
        return ()

    def location(self, tensors: Literal["optimizer_state", "accumulators"], location: Location) -> Lines:
        """Accumulators leave the chip in pipelines only."""
        if tensors == "accumulators":
            return (
                self._pipelining([], {"offload_gradient_accumulation_buffers": f"{not location.on_chip}"})
                if self._mapping and not location.sharded
                else ()
            )
        options = {
            "offload_weight_update_variables": f"{not location.on_chip}",
            "replicated_optimizer_state_sharding": f"{location.sharded}",
        }
        return self._options(single=options, pipeline=options)

    def prefetch(self, depth: int) -> Lines:
        return (f'model.set_infeed_queue_options(**{{**model._infeed_kwargs, "prefetch_depth": {depth}}})',)

    def overlap(self, io_tiles: int, *, accumulation_loop: bool, sum_results: bool) -> Lines:
        return (
            f"config.io_tiles.num_io_tiles = {io_tiles}",
            "config.io_tiles.place_ops_on_io_tiles = True",
        )

    def input_dtype(self, inputs: Sequence[int], dtype: str) -> Lines:
        """Inputs cast on the host; a model casts them on the device to the types of its own inputs."""
        return cast_inputs(dtype, f"i in {{{', '.join(map(str, inputs))}}}")

    def _options(
        self,
        *,
        single: Mapping[str, str] | None,
        pipeline: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> Lines:
        """Options of the updates of a model; where it may become a pipeline, for that too."""
        lines = self._pipelining(arguments, pipeline or {})
        if self._mapping or single is None:
            return lines
        kept = merged("model._gradient_accumulation_optimizer_kwargs", single)
        given = (*arguments, *self._method("model"), *kept)
        return (*call("model.set_gradient_accumulation_options", given), "# and for a pipeline:", *lines)

    def _pipelining(
        self, arguments: Sequence[str], options: Mapping[str, str], model: str = "model"
    ) -> Lines:
        kept = merged(f"{model}._pipelining_kwargs", options)
        return call(f"{model}.set_pipelining_options", (*arguments, *self._method(model), *kept))

    def _method(self, model: str) -> tuple[str, ...]:
        """The reduction method, which each call sets: sum by default."""
        if self._reduction is None:
            return (f"{_METHOD}={model}._{_METHOD}",)
        return () if self._reduction == "sum" else (f'{_METHOD}="{self._reduction}"',)

    def _accumulated(self, model: str) -> Lines:
        """Micro-batches of a weight update."""
        pipelined = f"accumulated = {model}._pipelining_{_STEPS} or"
        return (f"{pipelined} 1",) if self._mapping else (f"{pipelined} \\", f"    {model}._{_STEPS} or 1")

    def _weight_updates(self, model: str) -> Lines:
        updates = "updates = max(1, steps_per_execution // accumulated)  # of an execution"
        return (*self._accumulated(model), updates)
