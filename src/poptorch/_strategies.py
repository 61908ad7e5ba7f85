"""Execution strategies: which block goes to which stage, phase and IPU, and how the stages run. The rules that follow
them during a capture are in `tremula.frontends.torch.capture.stages`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from tremula.frontends.torch.capture.stages import (
    AutoStages,
    BlockRule,
    BlockTarget,
    ListedPhases,
    ListedStages,
)
from tremula.program.stages import Mode

from . import enums

BlockId = str

_logger = logging.getLogger("poptorch::python")

# Device phase numbers per phase of the user, and phases kept free before the backward pass.
_PHASE_STRIDE = {
    enums.Liveness.AlwaysLive: 1,
    enums.Liveness.OffChipAfterFwd: 1,
    enums.Liveness.OffChipAfterFwdNoOverlap: 2,
    enums.Liveness.OffChipAfterEachPhase: 4,
}
_GAP_OFF_CHIP = 3
_GAP_SEPARATE_BACKWARD = 1


class Stage:
    """One or more blocks that run together on one IPU.

    Args:
        block_ids: `user_id` of each block.
    """

    def __init__(self, *block_ids: BlockId) -> None:
        if not all(isinstance(block, str) for block in block_ids):
            raise AssertionError(f"a Stage takes block ids, which are strings, not {block_ids}")
        self._blocks = block_ids
        self._stage_id = -1
        self._phase_id = -1
        self._ipu: int | None = None

    @property
    def blocks(self) -> Sequence[BlockId]:
        """Ids of the blocks in this stage."""
        return self._blocks

    def ipu(self, ipu: int) -> Stage:
        """Run this stage on IPU number `ipu`, regardless of the IPUs of its blocks."""
        if not isinstance(ipu, int):
            raise AssertionError(f"an IPU is given by its number, not by {type(ipu).__name__}")
        self._ipu = ipu
        return self

    def _setStage(self, stage: int | None) -> Stage:
        if stage is not None:
            self._stage_id = stage
        return self

    def _target(self) -> BlockTarget:
        return BlockTarget(stage=max(self._stage_id, 0), phase=max(self._phase_id, 0), ipu=self._ipu)


class Phase:
    """Stages that run at the same time within one execution phase.

    Args:
        arg: stages, or ids of blocks which then form a single stage.
    """

    def __init__(self, *arg: BlockId | Stage) -> None:
        self.stages: Sequence[Stage]
        if all(isinstance(item, Stage) for item in arg):
            self.stages = arg  # type: ignore[assignment]
        else:
            if not all(isinstance(item, str) for item in arg):
                raise AssertionError(
                    "a Phase takes either Stages or block ids (strings), not a mixture or "
                    f"{[type(item).__name__ for item in arg]}"
                )
            self.stages = [Stage(*arg)]  # type: ignore[arg-type]

    def stage(self, idx: int) -> Stage:
        """Stage number `idx` of this phase."""
        return self.stages[idx]

    def ipus(self, *ipus: int) -> None:
        """Put the stages on these IPUs, one each, in order."""
        if len(ipus) != len(self.stages):
            raise AssertionError(f"this Phase has {len(self.stages)} stages but {len(ipus)} IPUs were given")
        for stage, ipu in zip(self.stages, ipus, strict=True):
            stage.ipu(ipu)


class _IExecutionStrategy:
    """Base class of all strategies."""

    def __init__(self, block_map: dict[BlockId, Stage]) -> None:
        self._block_map = block_map
        self._rule: BlockRule | None = None

    def stage(self, block_id: BlockId) -> Stage:
        """The stage that contains the block `block_id`."""
        if block_id not in self._block_map:
            raise AssertionError(
                f"Unknown block {block_id}: the blocks of this strategy are {list(self._block_map)}"
            )
        return self._block_map[block_id]

    def backendOptions(self) -> dict[str, int | bool]:
        """The entries of `Options.toDict` that this strategy decides."""
        return {}

    def onStartTracing(self) -> None:
        """A capture begins."""
        self._rule = None

    def onEndTracing(self) -> None:
        """A capture has ended: log where each block went."""
        if self._rule is None or not _logger.isEnabledFor(logging.DEBUG):
            return
        for place in self._rule.summary().blocks:
            _logger.debug(
                "block %s: stage %d, phase %d, IPU %d", place.block, place.stage, place.phase, place.ipu
            )

    def _placement_rule(self) -> BlockRule:
        """A fresh rule for one capture."""
        self._rule = self._make_rule()
        return self._rule

    def _make_rule(self) -> BlockRule:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        # copies and pickles keep the plan, not the capture that last followed it
        return {**self.__dict__, "_rule": None}


def _add_blocks(block_map: dict[BlockId, Stage], stage: Stage, where: str) -> None:
    for block in stage.blocks:
        if block in block_map:
            raise AssertionError(f"{block} is listed in more than one stage")
        _logger.debug(
            "block %s added to %s%s", block, where, "" if stage._ipu is None else f" on IPU {stage._ipu}"
        )
        block_map[block] = stage


class PipelinedExecution(_IExecutionStrategy):
    """Stages work on different micro-batches at the same time.

    Args:
        args: an `AutoStage` (default `AutoStage.SameAsIpu`), or the stages in order, each given as a `Stage`,
            a block id or a list of block ids.
    """

    _mode = Mode.PIPELINED

    def __init__(self, *args: Any) -> None:
        block_map: dict[BlockId, Stage] = {}
        self._auto_stage = enums.AutoStage.SameAsIpu
        if len(args) == 1 and isinstance(args[0], enums.AutoStage):
            self._auto_stage = args[0]
        else:
            for number, arg in enumerate(args):
                if isinstance(arg, Stage):
                    stage = arg
                elif isinstance(arg, str):
                    stage = Stage(arg)
                else:
                    stage = Stage(*arg)
                stage._setStage(number)
                _add_blocks(block_map, stage, f"stage {number}")
        super().__init__(block_map)

    def backendOptions(self) -> dict[str, int | bool]:
        """The entries of `Options.toDict` that this strategy decides."""
        return {"execution_mode": self._mode.value}

    def _make_rule(self) -> BlockRule:
        if self._block_map:
            targets = {block: stage._target() for block, stage in self._block_map.items()}
            return ListedStages(self._mode, targets)
        return AutoStages(self._mode, same_as_ipu=self._auto_stage == enums.AutoStage.SameAsIpu)


class ShardedExecution(PipelinedExecution):
    """Stages run one after the other, each on its IPU; takes the arguments of `PipelinedExecution`."""

    _mode = Mode.SHARDED


class _IPhasedExecution(_IExecutionStrategy):
    """Blocks run in phases, between which tensors may leave the chip.

    Args:
        phases: the phases in order, each a `Phase`, a stage, a list of stages, a block id or a list of block
            ids (which form one stage).
    """

    _serial = True

    def __init__(self, *phases: Any) -> None:
        if not phases:
            raise AssertionError("phased execution has no automatic stages: list the phases of the model")
        self._tensors_liveness = enums.Liveness.AlwaysLive
        self._separate_backward_phase = False
        self._phases: list[Phase] = []
        block_map: dict[BlockId, Stage] = {}
        for number, arg in enumerate(phases):
            if isinstance(arg, Phase):
                phase = arg
            else:
                phase = Phase(*arg) if isinstance(arg, list) else Phase(arg)
            self._phases.append(phase)
            for stage in phase.stages:
                stage._phase_id = number
                _add_blocks(block_map, stage, f"phase {number}")
        super().__init__(block_map)

    def phase(self, phase: int) -> Phase:
        """Phase number `phase`."""
        if not isinstance(phase, int):
            raise AssertionError("phases are numbered from 0")
        if phase < 0:
            raise AssertionError("phases are numbered from 0")
        return self._phases[phase]

    def useSeparateBackwardPhase(self, use: bool = True) -> _IPhasedExecution:
        """Start the backward pass in a separate phase instead of in the last forward phase."""
        if not isinstance(use, bool):
            raise AssertionError("use must be True or False")
        self._separate_backward_phase = use
        return self

    def backendOptions(self) -> dict[str, int | bool]:
        """The entries of `Options.toDict` that this strategy decides."""
        return {
            "execution_mode": Mode.PHASED.value,
            "separate_backward_phase": self._separate_backward_phase,
            "tensors_liveness": self._tensors_liveness.value,
            "serial_phases_execution": self._serial,
        }

    def _make_rule(self) -> BlockRule:
        liveness = self._tensors_liveness
        if liveness != enums.Liveness.AlwaysLive:
            gap = _GAP_OFF_CHIP
        else:
            gap = _GAP_SEPARATE_BACKWARD if self._separate_backward_phase else 0
        return ListedPhases(
            {block: stage._target() for block, stage in self._block_map.items()},
            stride=_PHASE_STRIDE[liveness],
            gap=gap,
            serial=self._serial,
        )


class ParallelPhasedExecution(_IPhasedExecution):
    """Phases alternate between the even and the odd IPUs."""

    _serial = False

    def sendTensorsOffChipAfterFwd(self, off_chip: bool = True) -> ParallelPhasedExecution:
        """Keep activations off the chip between the forward and the backward pass."""
        if not isinstance(off_chip, bool):
            raise AssertionError("off_chip must be True or False")
        self._tensors_liveness = enums.Liveness.OffChipAfterFwd if off_chip else enums.Liveness.AlwaysLive
        return self


class SerialPhasedExecution(_IPhasedExecution):
    """All phases run one after the other on one group of IPUs."""

    def setTensorsLiveness(self, liveness: enums.Liveness) -> SerialPhasedExecution:
        """Set when tensors leave the chip."""
        if not isinstance(liveness, enums.Liveness):
            raise AssertionError("liveness must be a poptorch.Liveness")
        self._tensors_liveness = liveness
        return self
