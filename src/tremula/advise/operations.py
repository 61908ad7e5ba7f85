"""Finds ops to check: unsupported, not modelled, computed by the host, or unusually slow.

An op is slow if neither its arithmetic nor the bytes it touches justify its time; its plan gives the reason. Equal
layers are listed once, with a star for their number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tremula.estimate.estimate import Estimate, OpTime
from tremula.formatting import ShownAsText, plain, plain_values, share
from tremula.program.op import SourceLine
from tremula.program.variant import UnknownOp
from tremula.study.dialect import Dialect

#: share of all cycles from which a slow op is listed
_NOTICED = 0.02
#: cycles over those that arithmetic and bytes justify, from which an op is slow
_SLOW = 6.0
#: supersteps of one run from which their number is the reason
_MANY_STEPS = 32
#: cycles of a superstep below which what it costs in any case is most of it
_SMALL_STEP = 3000
_NUMBER = re.compile(r"(?<=[./])\d+(?=[./]|$)|^\d+(?=[./]|$)")

_REMEDIES = {
    "unknown": "the estimate assumes one pass over its inputs and outputs; measure it if it matters",
    "small": "make ops larger: a larger micro-batch, or fewer and wider layers",
    "host": "the device waits for the host here, and that time is not modelled; move it out of the loop",
}


@dataclass(frozen=True)
class Look:
    """One op, or equal ops of equal layers."""

    #: unsupported, unknown, host or slow
    kind: str
    op: str
    #: dotted path of the module, numbers of equal layers as stars
    module: str
    sources: tuple[SourceLine, ...]
    count: int
    #: of the cycles of all ops
    share: float
    why: str
    todo: str

    def __str__(self) -> str:
        where = f" in {self.module}" if self.module else ""
        times = f" ({self.count} times)" if self.count > 1 else ""
        spent = f", {share(self.share)} of all cycles" if self.share else ""
        at = f"\n    at {self.sources[0]}" if self.sources else ""
        more = f" and {len(self.sources) - 1} more lines" if len(self.sources) > 1 else ""
        return plain(f"{self.kind}: {self.op}{where}{times}{spent}: {self.why}{at}{more}\n    {self.todo}")


@dataclass(frozen=True)
class Looks(ShownAsText):
    """All ops that deserve a look, the worst first; figures are modelled."""

    looks: tuple[Look, ...]

    def __iter__(self) -> Iterator[Look]:
        return iter(self.looks)

    def __len__(self) -> int:
        return len(self.looks)

    def __str__(self) -> str:
        return "\n".join(map(str, self.looks)) or "No op stands out."

    def to_plain(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [plain_values({**vars(look), "sources": list(map(str, look.sources))}) for look in self.looks]


def operations(
    found: Estimate, unsupported: Sequence[UnknownOp] = (), dialect: Dialect | None = None
) -> Looks:
    """Ops of an estimate that deserve a look.

    `unsupported` are ops that the device's compiler is not known to support (CapturedVariant.unknown). What it is
    known to refuse is an error of the capture, which lists all of it.
    """
    host_block = "let the host run it" if dialect is None else f"put {dialect.host_block} around it"
    remedy = f"rewrite it with supported ops, write a custom op, or {host_block}"
    looks = [
        Look("unsupported", op.name, "", op.sources, max(1, len(op.sources)), 0.0,
             "the device's compiler is not known to support it", remedy)
        for op in unsupported
    ]  # fmt: skip
    host = [(op.kind, op) for op in found.program.ops if op.host]
    looks += _looks("host", host, lambda group: ("the host computes it", _REMEDIES["host"]))
    unknown = [(op.target, op) for op in found.ops if op.unknown]
    looks += _looks("unknown", unknown, lambda group: ("no planner knows it", _REMEDIES["unknown"]))
    # the optimizer's own ops are not the user's to change
    timed = [(op.target, op) for op in found.ops if not op.unknown and op.phase in ("forward", "backward")]
    slow = [look for look in _looks("slow", timed, lambda group: _reason(found, group)) if look.why]
    small = [look for look in slow if look.todo == _REMEDIES["small"]]
    if len(small) > 1:  # one cause, one entry
        slow = [look for look in slow if look.todo != _REMEDIES["small"]] + [_together(small)]
    looks += sorted(slow, key=lambda look: -look.share)
    return Looks(tuple(looks))


def _looks(
    kind: str, ops: Sequence[tuple[str, Any]], reason: Callable[[Sequence[Any]], tuple[str, str]]
) -> Iterator[Look]:
    """A look for ops of one kind that share a module, numbers of layers left out, and a source line."""
    groups: dict[tuple[str, str, Any], list[Any]] = {}
    for target, op in ops:
        groups.setdefault((target, _NUMBER.sub("*", op.module), op.source), []).append(op)
    for (target, module, source), group in groups.items():
        where = group[0].module if len(group) == 1 else module
        lines = () if source is None else (source,)
        spent = sum(getattr(op, "share", 0.0) for op in group)
        yield Look(kind, target, where, lines, len(group), spent, *reason(group))


def _together(small: Sequence[Look]) -> Look:
    """Ops that are slow because they are small, as one."""
    return Look(
        kind="slow",
        op=", ".join(dict.fromkeys(look.op.removeprefix("aten::") for look in small)),
        module="",
        sources=tuple(dict.fromkeys(line for look in small for line in look.sources)),
        count=sum(look.count for look in small),
        share=sum(look.share for look in small),
        why="too small for the chip: fixed costs per step exceed their arithmetic",
        todo=_REMEDIES["small"],
    )


def _reason(found: Estimate, group: Sequence[OpTime]) -> tuple[str, str]:
    """Why ops take much longer than necessary, and what to do. Empty if they do not, or if their share is small."""
    if sum(op.share for op in group) < _NOTICED:
        return "", ""
    chip = found.chip
    numbers = {op.name: op for op in found.program.ops}
    cycles = justified = compute = mean = steps = waiting = rounds = 0.0
    for op in group:
        cycles += op.cycles
        flat = numbers[op.name]
        dtype = next((getattr(w, "dtype", "fp32") for w in flat.works), "fp32")
        dtype = dtype if dtype in ("fp16", "fp32") else "fp32"
        peak = chip.peak_flops(dtype, found.deployment.partials) / chip.clock_hz
        touched = found.program.bytes_of((*flat.inputs, *flat.outputs))
        # a tile loads or stores a full data path per cycle
        justified += op.runs * max(op.cost.flops / peak, touched / (chip.tiles * chip.data_path_bytes))
        for step in op.cost.supersteps:
            times = op.runs * step.repeats
            rounds += times
            compute += times * step.compute_cycles
            mean += times * step.compute_cycles * step.balance * min(1.0, step.tiles / chip.tiles)
            waiting += times * (step.exchange_cycles + step.sync_cycles)
        steps = max(steps, sum(step.repeats for step in op.cost.supersteps))
    if cycles < _SLOW * max(justified, 1.0):
        return "", ""
    slower = f"{cycles / max(justified, 1.0):.0f} times the cycles that its arithmetic and bytes need"
    if steps >= _MANY_STEPS:
        return (
            f"{slower}: {steps:.0f} steps one after the other",
            "process more elements at once (a larger batch, a wider op), or replace the loop by one op",
        )
    if cycles < _SMALL_STEP * rounds:
        return f"{slower}: too small for the chip, {cycles / rounds:,.0f} cycles per step", _REMEDIES["small"]
    if compute and mean / compute < 0.3:
        return (
            f"{slower}: {mean / compute:.0%} of the tiles have work on average",
            "use larger or more even dimensions (multiples of 16), a larger micro-batch, or fuse it with its "
            "neighbours",
        )
    if waiting > cycles / 2:
        return (
            f"{slower}: {waiting / cycles:.0%} of it is exchange and waiting",
            "use fewer, larger ops: the exchange of small ops costs more than their arithmetic",
        )
    return f"{slower}: its vertex does little per cycle", "use another op or dtype for the same result"
