"""From poptorch's options to the settings of the engine: of a session, and of the device that runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from tremula.device.settings import Connection, DeviceSettings, effective_engine_options
from tremula.distributed import launch_environment
from tremula.distributed.instances import Instances, sync_timeout
from tremula.errors import Error
from tremula.execute.outputs import OutputRule
from tremula.execute.settings import ExecutionSettings, ReplicaGrouping
from tremula.frontends.torch.settings import SessionSettings
from tremula.program.loops import Loops

from . import enums

if TYPE_CHECKING:
    from .options import Options

_CONNECTIONS = {
    enums.ConnectionType.Always: Connection.ALWAYS,
    enums.ConnectionType.OnDemand: Connection.ON_DEMAND,
    enums.ConnectionType.Never: Connection.NEVER,
}
_MODES = {
    enums.OutputMode.Final: "final",
    enums.OutputMode.EveryN: "every_n",
    enums.OutputMode.All: "all",
    enums.OutputMode.Sum: "sum",
}


def loops_of(options: Options) -> Loops:
    """The factors of the combined batch."""
    return Loops(
        device_iterations=options.device_iterations,
        gradient_accumulation=options.Training.gradient_accumulation,
        replicas=options.replication_factor,
        input_group_size=options.input_group_size,
        consecutive_groups=options.input_cgt != enums.CommGroupType.Orthogonal,
    )


def output_rule(mode: int, period: int) -> OutputRule:
    """The engine's word for an output mode."""
    return OutputRule(_MODES[enums.OutputMode(mode)], period)


def session_settings(
    options: Options, training: bool, groupings: Mapping[str, ReplicaGrouping], label: str = "model"
) -> SessionSettings:
    """Settings for a session that runs with `options`."""
    popart = options._Popart.options
    reduction = options.Training.accumulation_and_replication_reduction_type
    return SessionSettings(
        training=training,
        loops=loops_of(options),
        outputs=output_rule(options.output_mode, options.output_return_period),
        anchors={
            anchor[0]: output_rule(anchor[2], anchor[3]) for anchor in options.anchored_tensors.values()
        },
        seed=options.random_seed if options.exists("random_seed") else None,
        rule=options._execution_strategy._placement_rule(),
        mean_reduction=reduction == enums.ReductionType.Mean,
        running_mean=reduction == enums.ReductionType.Mean and _is_running(options),
        broadcast_buffers=options.broadcast_buffers,
        groupings=groupings,
        scopes_from_modules=options._module_namescope_enabled,
        source_excludes=tuple(options._source_location_excludes),
        trap_floating_point=bool(popart.get("enableFloatingPointChecks", False)),
        stochastic_rounding=bool(popart.get("enableStochasticRounding", False)),
        io_tiles=options.TensorLocations.toDict().get("numIOTiles", 0),
        half_partials=popart.get("partialsTypeMatMuls") == "half",
        execution=ExecutionSettings(cache_folder=cache_folder(options), label=label),
        instances=instances_of(options) if training else Instances(),
    )


def device_settings(options: Options, training: bool, label: str) -> DeviceSettings:
    """Settings for the device of a model called `label`."""

    def chosen(name: str) -> Any:
        return getattr(options, name) if options.exists(name) else None

    return DeviceSettings(
        kind="trainingModel" if training else "inferenceModel",
        label=label,
        training=training,
        name=chosen("model_name") or "",
        replicas=options.replication_factor,
        connection=_CONNECTIONS[options.connection_type],
        device_id=chosen("ipu_id"),
        use_model=chosen("use_model"),
        round_up=options.auto_round_num_ipus,
        count_cycles=bool(options._Popart.options["instrumentWithHardwareCycleCounter"]),
        cache_folder=cache_folder(options),
        instance=options.Distributed.processId,
        instances=options.Distributed.numProcesses,
        engine_options=own_engine_options(options),
        seed=chosen("random_seed"),
        front_end="poptorch",
    )


def own_engine_options(options: Options) -> Mapping[str, str]:
    """Poplar's engine options as the program has set them."""
    own: Mapping[str, str] = options._Popart.options.get("engineOptions", {})
    return own


def instances_of(options: Options) -> Instances:
    """Who trains a model with these options together; nobody else if it is only compiled."""
    processes = options.Distributed.numProcesses
    if processes == 1 or options.connection_type == enums.ConnectionType.Never:
        return Instances()
    index = options.Distributed.processId
    if launch_environment.instances() == processes:
        # options that were read from a file are those of the process that saved them
        index = launch_environment.instance()
    timeout = sync_timeout(effective_engine_options(own_engine_options(options)))
    return Instances(index, processes, timeout)


def cache_folder(options: Options) -> str | None:
    """The folder in which the user wants compiled models to be kept."""
    popart = options._Popart.options
    return popart.get("cachePath") or None if popart.get("enableEngineCaching") else None


def _is_running(options: Options) -> bool:
    strategy = options.Training.meanAccumulationAndReplicationReductionStrategy
    return bool(strategy == enums.MeanReductionStrategy.Running)


def groupings_of(
    model: torch.nn.Module, options: Options, settings: Mapping[str, tuple[Any, int, Any]]
) -> dict[str, ReplicaGrouping]:
    """The replica groupings that the user set for parameters of `model`, by name."""
    parameters = dict(model.named_parameters())
    replicas = options.replication_factor
    return {
        name: grouping_of(name, parameters[name], replicas, setting) for name, setting in settings.items()
    }


def grouping_of(
    name: str, parameter: torch.Tensor, replicas: int, setting: tuple[Any, int, Any]
) -> ReplicaGrouping:
    """A parameter's replica grouping, checked against its shape."""
    kind, size, _retrieval = setting
    if parameter.dim() == 0:
        raise Error(f"Scalars cannot be passed as per-replica weight tensor values, but {name} is a scalar.")
    if kind == enums.CommGroupType.All:
        raise Error(f"{name}: CommGroupType.All gives one value to all replicas. Remove replicaGrouping().")
    groups = replicas if kind == enums.CommGroupType.NoGrouping else replicas // max(size, 1)
    if parameter.shape[0] != groups:
        raise Error(
            f"{name} has {parameter.shape[0]} values along its first dimension, but {replicas} replicas in groups "
            f"of {replicas // groups if groups else size} make {groups} groups. Give one value per group."
        )
    return ReplicaGrouping(groups, consecutive=kind != enums.CommGroupType.Orthogonal)
