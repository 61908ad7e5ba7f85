"""Everything about a torch program that is not the model itself: what capture needs, what running adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tremula.distributed.instances import Instances
from tremula.execute.outputs import OutputRule
from tremula.execute.settings import ExecutionSettings, ReplicaGrouping
from tremula.frontends.torch.capture.placement import PlacementRule, SingleIpu
from tremula.frontends.torch.capture.stages import BlockRule
from tremula.program.loops import Loops
from tremula.program.stages import StageSummary


@dataclass(frozen=True)
class CaptureSettings:
    """What the captured graphs depend on."""

    training: bool
    loops: Loops = Loops()
    outputs: OutputRule = OutputRule()
    rule: PlacementRule = field(default_factory=SingleIpu)
    mean_reduction: bool = True
    running_mean: bool = False
    #: whether buffers that the model writes would have to be kept equal between replicas
    broadcast_buffers: bool = True
    groupings: Mapping[str, ReplicaGrouping] = field(default_factory=dict)
    scopes_from_modules: bool = True
    source_excludes: tuple[str, ...] = ()
    #: whether users learn of ops that PopTorch has not got
    warns_of_unknown_ops: bool = True
    #: tiles set aside for transfers, which overlapped transfers need
    io_tiles: int = 0
    #: who trains the model together with this process
    instances: Instances = Instances()

    @property
    def turns_per_update(self) -> int:
        """Micro-batches of this instance that each update of the weights is made from."""
        return self.loops.gradient_accumulation * self.loops.replicas

    @property
    def stages(self) -> StageSummary | None:
        """What the placement rule saw during the capture, if it is one of blocks."""
        return self.rule.summary() if isinstance(self.rule, BlockRule) else None


@dataclass(frozen=True)
class SessionSettings(CaptureSettings):
    """What running a captured program depends on besides."""

    #: tensors to return besides the outputs: name -> which of their values
    anchors: Mapping[str, OutputRule] = field(default_factory=dict)
    seed: int | None = None
    trap_floating_point: bool = False
    stochastic_rounding: bool = False
    half_partials: bool = False
    execution: ExecutionSettings = ExecutionSettings()
