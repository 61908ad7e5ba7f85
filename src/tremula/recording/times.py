"""Time as rows: the parts of a step, stages, the phases of a pipeline, traffic beyond the chip.

The phases of a pipeline follow the rule of the schedule: in turn c, stage s works if 0 <= c - s < micro-batches, and
a turn lasts as long as its busiest IPU, then copies. What they add up to is the pipeline's time by construction;
rounding and alternating schedules are put into the full turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tremula.estimate.estimate import Estimate
from tremula.plan.cost import Why
from tremula.profile import model
from tremula.recording.reasons import as_json
from tremula.schedule.pipeline import PipelineTime, StageTime
from tremula.step_parts import BY_KEY

_COLLECTIVE = "collectives: "
_NO_WHY = Why(plan="no reason is known", formula="", source="")


def time_rows(estimate: Estimate) -> Iterator[model.Row]:
    """Rows about time."""
    for name, cycles in estimate.breakdown.items():
        yield model.Part(name, cycles)
    for stage in estimate.time.stages:
        yield model.Stage(
            stage=stage.number,
            ipu=stage.ipu,
            phases=",".join(stage.phases),
            forward_cycles=stage.forward.total,
            recompute_cycles=stage.recompute.total,
            backward_cycles=stage.backward.total,
            copied_bytes=stage.copied_bytes,
        )
    if estimate.time.pipeline is not None:
        yield from _pipeline(
            estimate.time.stages, estimate.time.pipeline, estimate.deployment.pipeline_schedule
        )
    yield from transfers(estimate)


def _pipeline(
    stages: Sequence[StageTime], time: PipelineTime, schedule: str
) -> Iterator[model.PipelinePhase]:
    count, batches = len(stages), time.micro_batches
    if schedule == "sequential":
        for stage in stages:
            yield model.PipelinePhase(
                "full", stage.ipu, stage.number, time.cycles, batches, time.total.total,
                batches * stage.work.total,
            )  # fmt: skip
        return
    filling = range(min(count - 1, batches))
    draining = range(max(count - 1, batches), batches + count - 1)
    elapsed = {
        "fill": sum(_turn(stages, turn, time) for turn in filling),
        "drain": sum(_turn(stages, turn, time) for turn in draining),
    }
    elapsed["full"] = max(0.0, time.total.total - elapsed["fill"] - elapsed["drain"])
    turns = {"fill": len(filling), "full": draining.start - len(filling), "drain": len(draining)}
    for name in ("fill", "full", "drain"):
        for position, stage in enumerate(stages):
            first = {"fill": 0, "full": len(filling), "drain": draining.start}[name]
            last = first + turns[name]
            active = max(0, min(last, position + batches) - max(first, position))
            yield model.PipelinePhase(
                name, stage.ipu, stage.number, turns[name], active, elapsed[name], active * stage.work.total
            )


def _turn(stages: Sequence[StageTime], turn: int, time: PipelineTime) -> float:
    """How long a turn lasts in which not all stages have work."""
    work: dict[int, float] = {}
    for position, stage in enumerate(stages):
        if 0 <= turn - position < time.micro_batches:
            work[stage.ipu] = work.get(stage.ipu, 0.0) + stage.work.total
    return max(work.values(), default=0.0) + time.cycle.inter_ipu


def transfers(estimate: Estimate) -> list[model.Transfer]:
    """Traffic of a step; the cycles of each kind sum to the part of the breakdown."""
    time, step = estimate.time, estimate.time.step
    found = _collectives(estimate)
    if step.streaming:
        bytes_moved = 2 * time.update.streamed_bytes
        found.append(_transfer("streaming", step.streaming, bytes_moved, time.why))
    if step.inter_ipu:
        copied = estimate.micro_batches_per_step * sum(each.bytes for each in time.crossings)
        found.append(_transfer("inter_ipu", step.inter_ipu, copied, time.why))
    if step.host_call:
        found.append(_transfer("host_call", step.host_call, 0, time.why))
    if step.host_transfer:
        program = estimate.program
        each = program.bytes_of(program.inputs) + program.bytes_of(program.outputs)
        moved = 0 if estimate.deployment.synthetic_data else estimate.micro_batches_per_step * each
        found.append(_transfer("host_transfer", step.host_transfer, moved, time.why))
    return found


def _transfer(part: str, cycles: float, size: int, whys: Mapping[str, Why]) -> model.Transfer:
    why = whys.get(part, _NO_WHY)
    kind = {"inter_ipu": "copy", "host_call": "call", "host_transfer": "host"}.get(part, part)
    return model.Transfer(BY_KEY[part].title, kind, cycles, size, as_json(why))


def _collectives(estimate: Estimate) -> list[model.Transfer]:
    whys = {name: why for name, why in estimate.time.why.items() if name.startswith(_COLLECTIVE)}
    seconds = {
        name: sum(value for figure, value in why.figures.items() if figure.startswith("seconds "))
        for name, why in whys.items()
    }
    total = sum(seconds.values())
    return [
        model.Transfer(
            name.removeprefix(_COLLECTIVE),
            "collective",
            estimate.time.step.collectives * seconds[name] / total if total else 0.0,
            round(why.figures.get("bytes on the fullest IPU", 0)),
            as_json(why),
        )
        for name, why in whys.items()
    ]
