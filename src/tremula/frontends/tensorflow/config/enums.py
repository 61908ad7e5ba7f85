"""The choices that options of a configuration take. Names and values are public interface."""

from __future__ import annotations

from enum import Enum

from tremula.frontends.tensorflow.config import messages


class SelectionOrder(Enum):
    """In which order the IPUs of a device become the shards of a program. Here all IPUs are equally near."""

    AUTO = messages.IpuSelectionOrder.AUTO
    ZIGZAG = messages.IpuSelectionOrder.ZIGZAG
    SNAKE = messages.IpuSelectionOrder.SNAKE
    HOOF = messages.IpuSelectionOrder.HOOF


class ExecutionProfileType(Enum):
    """How much an execution profile tells: nothing, or events of the device, of each IPU, or of each tile."""

    NO_PROFILE = messages.IpuExecutionProfileType.NO_PROFILE
    DEVICE_PROFILE = messages.IpuExecutionProfileType.DEVICE_PROFILE
    IPU_PROFILE = messages.IpuExecutionProfileType.IPU_PROFILE
    TILE_PROFILE = messages.IpuExecutionProfileType.TILE_PROFILE


class DeviceConnectionType(Enum):
    """When a program takes its device.

    * `ALWAYS`: when the system is configured.
    * `ON_DEMAND`: when something first runs on it.
    * `PRE_COMPILE`: never; what would run returns zeros.
    * `NEVER`: never; running anything is an error.
    """

    ALWAYS = messages.IpuDeviceConnectionType.ALWAYS
    ON_DEMAND = messages.IpuDeviceConnectionType.ON_DEMAND
    PRE_COMPILE = messages.IpuDeviceConnectionType.PRE_COMPILE
    NEVER = messages.IpuDeviceConnectionType.NEVER


class MergeRemoteBuffersBehaviour(Enum):
    """Whether buffers in remote memory that are alike become one: never, always, or where code is saved."""

    NO_MERGING = messages.ThreeState.THREESTATE_OFF
    MERGE = messages.ThreeState.THREESTATE_ON
    IF_BENEFICIAL = messages.ThreeState.THREESTATE_UNDEFINED


class SchedulingAlgorithm(Enum):
    """How the compiler of the real stack orders instructions."""

    CHOOSE_BEST = messages.IpuSchedulingAlgorithm.CHOOSE_BEST
    CLUSTERING = messages.IpuSchedulingAlgorithm.CLUSTERING
    POST_ORDER = messages.IpuSchedulingAlgorithm.POST_ORDER
    LOOK_AHEAD = messages.IpuSchedulingAlgorithm.LOOK_AHEAD
    SHORTEST_PATH = messages.IpuSchedulingAlgorithm.SHORTEST_PATH


class StochasticRoundingBehaviour(Enum):
    """Where half-precision results are rounded at random: nowhere, everywhere, or only where all replicas compute the
    same.
    """

    OFF = messages.StochasticRoundingBehaviour.StochasticRounding_Off
    ON = messages.StochasticRoundingBehaviour.StochasticRounding_On
    REPLICA_IDENTICAL_ONLY = messages.StochasticRoundingBehaviour.StochasticRounding_ReplicaIdenticalOnly

    @staticmethod
    def from_bool(value: bool) -> StochasticRoundingBehaviour:
        """ON or OFF."""
        return StochasticRoundingBehaviour.ON if value else StochasticRoundingBehaviour.OFF
