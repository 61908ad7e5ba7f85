"""What a study rests on, in sentences: ranges, systems, batches, layouts, data, energy.

Every table, page and file of a study carries them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tremula.estimate.bands import band
from tremula.estimate.energy import machine_power
from tremula.formatting import counted
from tremula.hardware.catalogue import target as hardware
from tremula.scale.batches import Batches
from tremula.scale.question import STRONG, WEAK, ScaleQuestion
from tremula.scale.row import DataRate, Row


def assumptions(
    question: ScaleQuestion, batches: Batches, rows: Sequence[Row], training: bool, data: DataRate | None
) -> list[str]:
    """The sentences."""
    per = "weight update" if training else "call"
    rate, scaling, memory = band("training" if training else "inference"), band("scaling"), band("memory")
    lines = [
        "All figures of IPUs are modelled, not measured. Likely range of the true value, from a comparison with "
        f"published figures: throughput {rate}; efficiency {scaling}; memory {memory}.",
    ]
    lines += [_systems(rows)] if any(row.system for row in rows) else []
    if WEAK in question.mode:
        lines.append(
            f"Weak scaling: every IPU takes {counted(batches.per_ipu, 'micro-batch', 'micro-batches')} of "
            f"{batches.micro_batch} per {per}, so the global batch grows with the IPUs."
        )
    if STRONG in question.mode:
        lines.append(f"Strong scaling: the global batch stays at {batches.global_batch:,} samples per {per}.")
    widths = f"{', '.join(map(str, sorted(question.stages)))} IPU{'' if max(question.stages) == 1 else 's'}"
    lines.append(
        f"At each size, replicas of {widths} are tried if they divide it, and the fastest that fits by the "
        "middle of the memory range is used. Efficiency is the throughput per IPU, divided by the best "
        "throughput per IPU of all sizes. Efficiency and energy assume that IPUs do not wait for data."
    )
    if training:
        lines.append(
            "Gradients are summed over replicas once per weight update, after the last micro-batch, and do not "
            "overlap with computation. Compilation, validation and checkpoints are not included."
        )
    lines.append(_data(data))
    lines += _energy(rows)
    return lines


def _systems(rows: Sequence[Row]) -> str:
    largest: dict[str, int] = {}
    for row in rows:
        if row.system:
            largest[row.system] = max(largest.get(row.system, 0), row.ipus)
    named = [f"{system} up to {ipus} IPU{'' if ipus == 1 else 's'}" for system, ipus in largest.items()]
    return f"Systems: {', '.join(named)} (docs/hardware.md has every number with its source)."


def _data(data: DataRate | None) -> str:
    if data is None:
        return "Data: loading is assumed to keep up; no rate was measured or given."
    processes = "" if data.workers is None else f" with {data.workers} worker processes"
    how = f", {data.how}" if data.how else ""
    return (
        f"Data: a host loads {data.samples_per_second:,.4g} samples/s ({data.origin}{processes}{how}); all hosts of a "
        "system are assumed to be equally fast."
    )


def _energy(rows: Sequence[Row]) -> list[str]:
    lines: list[str] = []
    # a system that was put together for a size has no name to look up, and the same machine as its smaller ones
    for system in dict.fromkeys(row.system for row in rows if row.system and " x " not in row.system):
        machine = hardware(system).machine
        power = machine_power(machine)
        if power is None:
            lines.append(f"Energy: the power of the {machine.title} is unknown.")
        elif power.published:
            lines.append(f"Energy: the published power of the {machine.title}, without hosts.")
        else:
            lines.append(
                f"Energy: the power of the {machine.title} is not published. The figure uses the power of one of "
                "its boards, and the range extends to all of them. Hosts are not included."
            )
    return list(dict.fromkeys(lines))
