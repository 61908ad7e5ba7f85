"""The tree of programs: an upload, and a training step whose stages hold the ops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.profile import ProfileWriter, model
from tremula.profile.program_types import ProgramType

from .plans import Plans
from .scale import SUPERSTEPS, Ints, Scale


@dataclass(frozen=True)
class Nodes:
    """Rows of what steps name: the leaves of op n are leaf[n] and the ones after it."""

    leaf: Ints
    copy: int
    upload: int
    loop: int


LEAVES = (
    (ProgramType.Sync, "Sync"),
    (ProgramType.DoExchange, "ExchangePre"),
    (ProgramType.OnTileExecute, ""),
)
_NAMES = ("PreArrange", "Convolve", "Reduce")
#: nodes of an op in the tree
_PER_OP = 1 + len(LEAVES) * SUPERSTEPS
#: stages come after this many nodes
_FIRST_STAGE = 9


def add_programs(
    writer: ProfileWriter, scale: Scale, plans: Plans, ops: list[model.Op], contexts: list[int]
) -> Nodes:
    """Write the programs, their compute sets and vertices."""
    _add_head(writer, scale, ops)
    first = writer.frame("programs").rows
    for begin in range(0, scale.ops, 8_192):
        _add_ops(writer, scale, plans, ops, contexts, np.arange(begin, min(scale.ops, begin + 8_192)), first)
    plan, at = np.repeat(np.arange(scale.plans), SUPERSTEPS), np.tile(np.arange(SUPERSTEPS), scale.plans)
    writer.frame("vertices").add(
        {
            "plan_id": plan, "superstep": at, "vertex_type": plan % 200, "count": plans.tiles[plan, at],
            "tiles": plans.tiles[plan, at],
        }
    )  # fmt: skip
    return Nodes(first + 1 + np.arange(scale.ops) * _PER_OP, copy=8, upload=2, loop=6)


def _add_head(writer: ProfileWriter, scale: Scale, ops: list[model.Op]) -> None:
    """The tree down to the stages of the pipeline."""
    head = [
        (-1, ProgramType.OnEveryTileSwitch, "switch", "program"), (0, ProgramType.Sequence, "upload", "weights"),
        (1, ProgramType.StreamCopyBegin, "leaf", "weights/copyFromHost"),
        (1, ProgramType.StreamCopyMid, "leaf", "weights/copyFromHost"),
        (1, ProgramType.StreamCopyEnd, "leaf", "weights/copyFromHost"),
        (0, ProgramType.Sequence, "step", "training step"), (5, ProgramType.Repeat, "repeat", "micro-batches x 8"),
        (5, ProgramType.Sequence, "copy", "copies between IPUs"),
        (7, ProgramType.GlobalExchange, "leaf", "copies between IPUs/InterIpuCopy/GlobalPre"),
    ]  # fmt: skip
    stages = 2 * scale.ipus
    head += [(6, ProgramType.Sequence, "stage", f"stage {n}") for n in range(stages)]
    step = float(sum(op.cycles for op in ops))
    cycles = [step, 0.0, 0.0, 0.0, 0.0, step, step, 0.0, 0.0] + [step / 8 / stages] * stages
    writer.frame("programs").add(
        {
            "parent": [h[0] for h in head], "type": [int(h[1]) for h in head], "kind": [h[2] for h in head],
            "name": [h[3] for h in head], "repeats": [8 if h[2] == "repeat" else 1 for h in head],
            "cycles": cycles, "op_id": -1, "compute_set": -1, "context": -1, "code_bytes": 0,
        }
    )  # fmt: skip


def _add_ops(
    writer: ProfileWriter,
    scale: Scale,
    plans: Plans,
    ops: list[model.Op],
    contexts: list[int],
    numbers: Ints,
    first: int,
) -> None:
    """The nodes and compute sets of the ops of these numbers; the first op is row `first`."""
    leaves = np.stack([plans.sync, plans.exchange, plans.compute], axis=2).reshape(scale.plans, -1)
    types = [int(ProgramType.Sequence), *[int(each[0]) for _ in range(SUPERSTEPS) for each in LEAVES]]
    suffixes = ["", *[f"/{name}/{end}".rstrip("/") for name in _NAMES for _, end in LEAVES]]
    within = np.array([-1, *[(-1, -1, at)[n] for at in range(SUPERSTEPS) for n in range(3)]])
    parents = np.repeat(first + numbers * _PER_OP, _PER_OP).reshape(-1, _PER_OP)
    parents[:, 0] = _FIRST_STAGE + numbers * 2 * scale.ipus // scale.ops
    spent = leaves[plans.of_op[numbers]]
    sets = np.where(within >= 0, numbers[:, None] * SUPERSTEPS + within, -1)
    writer.frame("programs").add(
        {
            "parent": parents.ravel(), "type": np.tile(types, len(numbers)),
            "kind": ["op", *["leaf"] * (_PER_OP - 1)] * len(numbers),
            "name": [ops[n].name + suffix for n in numbers.tolist() for suffix in suffixes],
            "repeats": 1, "cycles": np.concatenate([spent.sum(axis=1)[:, None], spent], axis=1).ravel(),
            "op_id": np.repeat(numbers, _PER_OP), "compute_set": sets.ravel(),
            "context": np.repeat(np.array(contexts)[numbers], _PER_OP),
            "code_bytes": np.where(np.arange(_PER_OP * len(numbers)) % _PER_OP > 0, 96, 0),
        }
    )  # fmt: skip
    plan = np.repeat(plans.of_op[numbers], SUPERSTEPS)
    at = np.tile(np.arange(SUPERSTEPS), len(numbers))
    writer.frame("compute_sets").add(
        {
            "name": [f"{ops[n].name}/{name}" for n in numbers.tolist() for name in _NAMES],
            "op_id": np.repeat(numbers, SUPERSTEPS), "plan_id": plan, "superstep": at,
            "vertices": plans.tiles[plan, at], "cycles": plans.compute[plan, at],
        }
    )  # fmt: skip
