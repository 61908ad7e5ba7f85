"""How blocks become IPUs, stages and phases, by the documented execution strategies: a stage per change of IPU, 2n-1
stages in training, phase strides 1/1/2/4. One rule object serves one capture; `summary()` tells what it saw.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from tremula.frontends.torch.capture.placement import Placement, PlacementRule
from tremula.frontends.torch.errors import compile_error
from tremula.program.stages import Mode, StageSummary


@dataclass(frozen=True)
class BlockTarget:
    """What a strategy says about a block: its stage, its phase, and its IPU if the user fixed one."""

    stage: int = 0
    phase: int = 0
    ipu: int | None = None


class BlockRule(ABC):
    """Follows the blocks of one capture; see `AutoStages`, `ListedStages`, `ListedPhases`."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self._active: Placement | None = Placement()
        self._last_ipu = 0
        self._ipu_changes = 0
        self._used: set[int] = set()
        self._seen: dict[Placement, None] = {}
        self._next_auto_id = 0
        self._owner_ids: dict[Hashable, str] = {}

    @abstractmethod
    def _target(self, block: str, ipu: int | None) -> BlockTarget:
        """The stage and phase of `block`; `ipu` is what its annotation asked for."""

    def begin(self, block: str | None, ipu: int | None) -> None:
        """A block opens and replaces the one that was active, if any."""
        name = self.next_auto_id() if block is None else str(block)
        target = self._target(name, ipu)
        chosen = ipu if target.ipu is None else target.ipu
        if chosen is None:
            chosen = self._default_ipu(name, target)
        self._activate(Placement(ipu=chosen, stage=target.stage, phase=target.phase, block=name))

    def begin_owned(self, owner: Hashable, ipu: int | None) -> None:
        """A block without a name opens; the same `owner` gets the same automatic name each time."""
        if owner not in self._owner_ids:
            self._owner_ids[owner] = self.next_auto_id()
        self.begin(self._owner_ids[owner], ipu)

    def begin_at(self, stage: int, phase: int, ipu: int) -> None:
        """A block opens at numbers that the caller worked out itself."""
        self._activate(Placement(ipu=ipu, stage=max(stage, 0), phase=max(phase, 0), block=None))

    def end(self) -> None:
        """The active block closes. Outer blocks are not resumed: the device has no such stack."""
        self._active = None

    def current(self) -> Placement:
        """Placement of an op recorded now."""
        placement = self._active
        if placement is None:
            raise compile_error(
                "No active Block: an op was called after a poptorch.Block had been closed and before another "
                "was opened. Once a model uses blocks, put every op in one of them.",
            )
        self._used.add(placement.ipu)
        self._seen.setdefault(placement)
        return placement

    def next_auto_id(self) -> str:
        """The name of the next block that has none."""
        name = str(self._next_auto_id)
        self._next_auto_id += 1
        return name

    def reset_auto_ids(self) -> None:
        """Count the blocks without names from 0 again."""
        self._next_auto_id = 0

    def summary(self) -> StageSummary:
        """What has been seen so far."""
        return StageSummary(
            mode=self.mode,
            forward_stages=self._ipu_changes + 1,
            ipus_used=tuple(sorted(self._used)),
            blocks=tuple(self._seen),
        )

    def _default_ipu(self, block: str, target: BlockTarget) -> int:
        """Where a block runs for which nobody named an IPU."""
        return target.stage

    def _activate(self, placement: Placement) -> None:
        if placement.ipu != self._last_ipu:
            self._ipu_changes += 1
        self._last_ipu = placement.ipu
        # Equal placements are kept as one object, so that a snapshot can be compared by identity.
        self._active = next((seen for seen in self._seen if seen == placement), placement)


class AutoStages(BlockRule):
    """Stages that follow from the annotations alone.

    Args:
        mode: pipelined or sharded.
        same_as_ipu: True numbers a stage as its IPU; False counts new blocks from 1, and what comes before
            the first block is stage 0.
    """

    def __init__(self, mode: Mode, *, same_as_ipu: bool) -> None:
        super().__init__(mode)
        self._same_as_ipu = same_as_ipu
        self._stages: dict[str, BlockTarget] = {}

    def _target(self, block: str, ipu: int | None) -> BlockTarget:
        if block not in self._stages:
            if not self._same_as_ipu:
                stage = len(self._stages) + 1
            elif ipu is None:
                raise AssertionError(
                    f"block {block} names no IPU, but poptorch.AutoStage.SameAsIpu numbers stages by IPU: "
                    "give the block an ipu_id, use AutoStage.AutoIncrement or list the strategy's stages"
                )
            else:
                stage = ipu
            self._stages[block] = BlockTarget(stage=stage)
        return self._stages[block]


class ListedStages(BlockRule):
    """Stages that the user listed: every block must be in the list."""

    def __init__(self, mode: Mode, blocks: Mapping[str, BlockTarget]) -> None:
        super().__init__(mode)
        self._blocks = dict(blocks)

    def _target(self, block: str, ipu: int | None) -> BlockTarget:
        if block not in self._blocks:
            raise AssertionError(
                f"Unknown block '{block}': the execution strategy lists the blocks {list(self._blocks)}. "
                "Add it to one of the strategy's stages or correct its user_id."
            )
        return self._blocks[block]


class ListedPhases(ListedStages):
    """Execution phases that the user listed.

    Args:
        blocks: where each block belongs; phases are numbered 0, 1, 2, ...
        stride: distance between consecutive phase numbers on the device. Above 1 it leaves room to move
            tensors off the chip between phases.
        gap: phases left free between the forward and the backward pass.
        serial: all phases on one group of IPUs; otherwise they alternate between even and odd IPUs.
    """

    def __init__(
        self, blocks: Mapping[str, BlockTarget], *, stride: int = 1, gap: int = 0, serial: bool = True
    ) -> None:
        super().__init__(Mode.PHASED, blocks)
        if stride > 1 and not serial:
            raise compile_error(
                "moving tensors off the chip between phases is only supported when phases run serially: use "
                "poptorch.SerialPhasedExecution or another liveness.",
            )
        self._stride = stride
        self._gap = gap
        self._serial = serial
        self._last_phase = 0

    def _target(self, block: str, ipu: int | None) -> BlockTarget:
        target = super()._target(block, ipu)
        return BlockTarget(stage=target.stage, phase=target.phase * self._stride, ipu=target.ipu)

    def _default_ipu(self, block: str, target: BlockTarget) -> int:
        raise compile_error(
            f"block {block} of phase {target.phase // self._stride} has no IPU: give the block an ipu_id or "
            "set one with Stage.ipu() or Phase.ipus().",
        )

    def _activate(self, placement: Placement) -> None:
        if not self._serial and placement.phase % 2 != placement.ipu % 2:
            raise compile_error(
                f"block {placement.block} puts phase {placement.phase} on IPU {placement.ipu}: when phases "
                "run in parallel, even phases must be on even IPUs and odd phases on odd IPUs.",
            )
        self._last_phase = max(self._last_phase, placement.phase)
        super()._activate(placement)

    def summary(self) -> StageSummary:
        """What has been seen so far, with the phase counts that the device is set up for."""
        phases = self._last_phase + 1 + self._gap
        return replace(super().summary(), phases=phases, phase_groups=1 if self._serial else 2)


class RestoredStages(BlockRule):
    """The rule of a program that comes from a file: it has seen everything already."""

    def __init__(self, seen: StageSummary) -> None:
        super().__init__(seen.mode)
        self._stages = seen

    def _target(self, block: str, ipu: int | None) -> BlockTarget:
        raise NotImplementedError("a program from a file is not captured again")

    def summary(self) -> StageSummary:
        return self._stages


def check(rule: PlacementRule, training: bool, gradient_accumulation: int, device_iterations: int) -> None:
    """Refuse a pipeline that gets fewer micro-batches per run than it has stages."""
    if not isinstance(rule, BlockRule) or rule.mode is not Mode.PIPELINED:
        return
    seen = rule.summary()
    stages = seen.pipeline_stages(training)
    if training and gradient_accumulation < stages:
        raise compile_error(
            "poptorch.Options().Training.gradientAccumulation must be greater than or equal to the number of "
            f"pipeline stages ({stages}): {seen.forward_stages} forward and {stages - seen.forward_stages} backward "
            f"stages need as many micro-batches per update to fill the pipeline. It is {gradient_accumulation} now.",
        )
    if not training and device_iterations < stages:
        raise compile_error(
            f"poptorch.Options().deviceIterations must be greater: the pipeline has {stages} stages and needs as many "
            f"micro-batches per call to fill it. It is {device_iterations} now.",
        )
