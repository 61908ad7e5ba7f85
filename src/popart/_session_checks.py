"""Checks session options and placements for conflicts when a session is created."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from tremula.errors import Error
from tremula.frontends.onnx.model import Node
from tremula.frontends.onnx.placing import IPU, STAGE, pipeline_stages, runs_again

from ._enums import (
    BatchSerializationMethod,
    BatchSerializationTransformContext,
    RecomputationType,
    VirtualGraphMode,
)
from ._session_options import SessionOptions


def check_options(options: SessionOptions, *, training: bool) -> None:
    """Raise Error if options contradict each other or what the session is for."""
    if options.enableGradientAccumulation and not training:
        raise Error("Gradient Accumulation only available when training.")
    if not options.enableGradientAccumulation and options.accumulationFactor > 1:
        raise Error(
            "enableGradientAccumulation is false, but accumulationFactor > 1. Enable gradient accumulation, or leave "
            "the factor at 1."
        )
    for what, count in (
        ("an accumulation factor", options.accumulationFactor),
        ("a number of replicas", options.replicatedGraphCount),
    ):
        if count < 1:
            raise Error(f"SessionOptions has {what} of {count}; it must be at least 1.")
    if options.enableExplicitMainLoops and not options.useHostCopyOps:
        raise Error("enableExplicitMainLoops requires useHostCopyOps.")
    serial = options.batchSerializationSettings
    if (
        serial.factor > 1
        and serial.method is BatchSerializationMethod.Loop
        and serial.transformContext is not BatchSerializationTransformContext.Bwd
    ):
        raise Error(
            "Loop batch serialization is only supported in BatchSerializationTransformContext::Bwd: set "
            "transformContext to Backward."
        )
    if options.executionPhaseSettings.phases > 1 and (
        options.virtualGraphMode is not VirtualGraphMode.ExecutionPhases
    ):
        raise Error("> 1 execution phases requires VirtualGraphMode::ExecutionPhases")
    _check_distributed(options)
    _check_loss_scaling(options, training=training)
    _check_forward_only(options)


def _check_distributed(options: SessionOptions) -> None:
    if not options.enableDistributedReplicatedGraphs:
        return
    local = options.replicatedGraphCount if options.enableReplicatedGraphs else 1
    if options.globalReplicationFactor < 1:
        raise Error(
            f"Invalid globalReplicationFactor value: {options.globalReplicationFactor}, must be greater or equal than 1"
        )
    if options.globalReplicaOffset < 0:
        raise Error(
            f"Invalid globalReplicaOffset value: {options.globalReplicaOffset}, must be greater or equal than 0"
        )
    if options.globalReplicaOffset >= options.globalReplicationFactor:
        raise Error(
            f"Global replica offset: {options.globalReplicaOffset}, is larger than global replication factor: "
            f"{options.globalReplicationFactor}"
        )
    if local > options.globalReplicationFactor:
        raise Error(
            f"Invalid local replication factor: {local}, larger than global replication factor: "
            f"{options.globalReplicationFactor}"
        )
    options._share()


def _check_loss_scaling(options: SessionOptions, *, training: bool) -> None:
    settings = options.automaticLossScalingSettings
    if not settings.enabled:
        return
    where = "[AutomaticLossScale transform]"
    if not training:
        raise Error(f"{where} Only compatible when doing training.")
    for name in ("binEdgeLocation", "thresholdUpperCountProportion"):
        value = getattr(settings, name)
        if not 0 <= value <= 1:
            raise Error(
                f"{where} Out of range value for '{name}'. The current value is {value:g}, it takes 0 to 1."
            )
    if settings.updatePeriod < 1:
        raise Error(
            f"{where} Out of range value for 'updatePeriod'. The current value is {settings.updatePeriod}, it must be "
            "at least 1."
        )
    if settings.toTrackTensors is not None and not settings.toTrackTensors:
        raise Error(f"{where} An empty list was set as the `toTrackTensors`: leave it out or name tensors.")


def _check_forward_only(options: SessionOptions) -> None:
    if not options.createImplicitPipeliningFwdOnlyProgram:
        return
    if options.enablePipelining and options.useHostCopyOps and options.enableExplicitMainLoops:
        raise Error("Implicit pipelining forward-only program is not supported with explicit pipelining.")
    if not options.enablePipelining:
        raise Error("Implicit pipelining forward-only program is not supported without implicit pipelining.")
    if not options.enableGradientAccumulation:
        raise Error(
            "Implicit pipelining forward-only program is not supported without gradient accumulation."
        )


def check_placement(options: SessionOptions, nodes: Sequence[Node], ipus: int) -> None:
    """Raise Error if ops are placed on IPUs or in stages that do not fit the options or each other."""
    mode = options.virtualGraphMode
    placed = [node for node in nodes if IPU in node.attributes]
    if mode is VirtualGraphMode.Manual:
        _check_annotated(nodes, placed)
    automatic = options.autoRecomputation is not RecomputationType.NoRecompute
    if automatic and options.executionPhaseSettings.phases < 2 and any(map(runs_again, nodes)):
        raise Error("A mixture of auto and manual recomputation is not supported")
    if options.enablePipelining:
        _check_pipeline(options, nodes, _ipus_of_replica(options, ipus))


def _ipus_of_replica(options: SessionOptions, ipus: int) -> int:
    replicas = options.replicatedGraphCount if options.enableReplicatedGraphs else 1
    return max(1, ipus // int(replicas))


def check_virtual_graphs(options: SessionOptions, nodes: Sequence[Node], ipus: int) -> None:
    """Raise Error if an op is on an IPU that the device does not have."""
    if options.virtualGraphMode is not VirtualGraphMode.Manual:
        return
    ipus = _ipus_of_replica(options, ipus)
    for node in nodes:
        number = _number(node, IPU)
        if not 0 <= number < ipus:
            raise Error(
                f"inputs: {_name(node)} has been assigned to an invalid virtual graph {number}. numIPUs = {ipus}."
            )


def _check_annotated(nodes: Sequence[Node], placed: Sequence[Node]) -> None:
    computing = [node for node in nodes if node.type != "Constant"]
    if computing and not placed:
        raise Error(
            "SessionOptions flag virtualGraphMode is VirtualGraphMode::Manual, but no Ops have been annotated with "
            "virtual graph information. Place ops with builder.virtualGraph, or leave the mode off."
        )
    without = [node for node in computing if node not in placed]
    if without:
        raise Error(
            "Either all ops must have their virtual graph set, or none. Those without: "
            f"{', '.join(map(_name, without[:5]))}. Place them with builder.virtualGraph."
        )


def _number(node: Node, attribute: str) -> int:
    """An attribute of a node that is a number, 0 by default."""
    return int(cast(int, node.attributes.get(attribute, 0)))


def _check_pipeline(options: SessionOptions, nodes: Sequence[Node], ipus: int) -> None:
    if options.virtualGraphMode is VirtualGraphMode.Off or ipus < 2:
        raise Error(
            f"Pipelining requires more than 1 IPU (currently {ipus}) and the 'virtualGraphMode' session option to not "
            f"be VirtualGraphMode::Off (currently VirtualGraphMode::{options.virtualGraphMode.name})."
        )
    staged = {node: _number(node, STAGE) for node in nodes if STAGE in node.attributes}
    if not staged:
        # stages follow from the virtual graphs
        _check_order({node: _number(node, IPU) for node in nodes if IPU in node.attributes})
        return
    if any(node not in staged for node in nodes if node.type not in ("Constant", "Shape")):
        raise Error(
            "Only some ops have had their pipeline stage set. Set it for all ops, or for none: then it follows from "
            "their virtual graphs."
        )
    _check_stages(staged)
    _check_order(staged)


def _check_stages(staged: dict[Node, int]) -> None:
    stages = set(staged.values())
    for stage in range(max(stages) + 1):
        if stage not in stages:
            raise Error(
                f"The set of pipeline stages for all Ops contains {len(stages)} stages, but stage {stage} is missing"
            )
        graphs = {node.attributes.get(IPU): node for node, own in staged.items() if own == stage}
        if len(graphs) > 1:
            names = ", ".join(_name(node) for node in graphs.values())
            numbers = ", ".join(str(number) for number in graphs)
            raise Error(
                f"Ops {names} have the same pipeline stage {stage}, but different virtual graph ids {numbers}. All ops "
                "with the same pipeline stage must also have the same virtual graph id"
            )


def _check_order(staged: dict[Node, int]) -> None:
    made = {name: stage for node, stage in staged.items() for name in node.outputs}
    for node, stage in staged.items():
        for name in node.inputs:
            if made.get(name, stage) > stage:
                raise Error(
                    f"Tensor {name} is consumed in an earlier pipeline stage than it is produced: by {_name(node)} in "
                    f"stage {stage}, and it is made in stage {made[name]}."
                )


def check_pipeline_depth(
    options: SessionOptions, nodes: Iterable[Node], batches: int, *, training: bool
) -> None:
    """Raise Error if a pipeline would never be full."""
    if not options.enablePipelining:
        return
    forward = pipeline_stages(nodes).values()
    if not forward:
        return
    stages = max(forward) + 1
    needed = 2 * stages - 1 if training else stages
    if options.enableGradientAccumulation:
        if options.accumulationFactor < needed:
            raise Error(
                f"For pipelining, depth (gradient accumulation factor) must equal at least the number of pipeline "
                f"stages ({needed}); it is {options.accumulationFactor}."
            )
    elif batches < needed:
        raise Error(
            f"For pipelining, depth (batchesPerStep) must equal at least the number of pipeline stages ({needed}); it "
            f"is {batches}."
        )


def _name(node: Node) -> str:
    return node.name or f"{node.type} ({', '.join(node.outputs)})"
