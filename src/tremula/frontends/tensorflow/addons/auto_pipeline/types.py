"""What is known about layers, models and machines. The keys are those of the public interface."""

from __future__ import annotations

from typing import TypedDict


class CycleInfo(TypedDict, total=False):
    """Cycles of a batch.

    Attributes:
        forward: of the forward pass, without transfers.
        backward: of the backward pass, without transfers.
        total: of the computation and the transfers.
    """

    forward: int
    backward: int
    total: int


class MemoryBaseInfo(TypedDict, total=False):
    """Bytes of memory.

    Attributes:
        shared: by name; what has one name is there once for all layers of an IPU.
        exclusive: by category; each layer has its own.
        inputs: of the tensors that come in, and of those that only pass through.
        outputs: of the tensors that go out, and of those that only pass through.
        curActivation: of the activations that are kept for the backward pass.
    """

    shared: dict[str, int]
    exclusive: dict[str, int]
    inputs: int
    outputs: int
    curActivation: int


class MemoryLayerInfo(MemoryBaseInfo, total=False):
    """Bytes of memory of one layer.

    Attributes:
        maxTemporary: of temporary values, at most.
        curCarryOver: of tensors that only pass through.
    """

    maxTemporary: int
    curCarryOver: int


class MemoryRangeInfo(MemoryBaseInfo, total=False):
    """Bytes of memory of consecutive layers.

    Attributes:
        maxTemporary: of temporary values, at most, with what passes through.
        totalMemory: of all.
    """

    maxTemporary: int
    totalMemory: int


class LayerInfo(TypedDict):
    """What is known about one layer."""

    cycle: CycleInfo
    memory: MemoryLayerInfo


class RangeInfo(TypedDict):
    """What is known about consecutive layers."""

    cycle: CycleInfo
    memory: MemoryRangeInfo


class ModelInfo(TypedDict):
    """What is known about the layers of a model, in their order.

    Attributes:
        layerName: names; layers with one name have the same variables and have to be in one stage.
        layerType: kinds of layers.
        layerInfo: what is known about each.
    """

    layerName: list[str]
    layerType: list[str]
    layerInfo: list[LayerInfo]


class ConnectionInfo(TypedDict):
    """How fast an IPU exchanges data with its neighbours in the pipeline; at the ends that is the host.

    Attributes:
        sendGBps: how fast it sends to the next one.
        sendIdleCycle: cycles before it sends.
        recvGBps: how fast it receives from the one before.
        recvIdleCycle: cycles before it receives.
    """

    sendGBps: int
    sendIdleCycle: int
    recvGBps: int
    recvIdleCycle: int


class IPUClusterInfo(TypedDict):
    """The machine.

    Attributes:
        clock: cycles in a second.
        memory: megabytes of an IPU.
        connection: one entry for each IPU.
    """

    clock: int
    memory: int
    connection: list[ConnectionInfo]


class AutoPipelineConfiguration(TypedDict):
    """How stages are found.

    Attributes:
        memoryProportion: the part of an IPU's memory that a stage may need.
        usePoplarEstimation: take estimated cycles, not measured ones.
    """

    memoryProportion: float
    usePoplarEstimation: bool
