"""The factors of the combined batch: micro-batch, gradient accumulation, device iterations.

Work per weight update is kept the same where the numbers allow it; else the cost says that the global batch changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from tremula.advise.advice import CLOSE, Change, edited
from tremula.estimate.estimate import Estimate
from tremula.study.case import Case, Study

#: share of a step in which the device waits for the host from which more iterations are worth a try
_WAITING = 0.02
#: device iterations that are tried, as multiples of what there is
_ITERATIONS = (4, 16, 64)
#: below this share of a tile a larger micro-batch may fit
_ROOMY = 0.7
#: share of a step that once-per-update work or idle stages must have
_ONCE = 0.03


def device_iterations(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """More turns of the device's loop per call."""
    waiting = found.time.step.host + (0.0 if found.training else found.breakdown["pipeline_idle"])
    if waiting < _WAITING * found.cycles_per_step:
        return
    then = (
        "; the learning rate changes between calls only." if found.training else ": latency of a call grows."
    )
    for factor in _ITERATIONS:
        turns = found.loops.device_iterations * factor
        yield Change(
            rule="device iterations",
            title=f"Run {turns} device iterations per call",
            why=f"{waiting / found.cycles_per_step:.0%} of a step is overhead: calls from the host, transfers that do "
            "not overlap with computation, and idle stages. More iterations of the device's loop share it.",
            code=study.subject.dialect.device_iterations(turns),
            cost=f"One call takes {factor} times the samples, and the host gets their results once per call{then}",
            apply=edited(loops={"device_iterations": turns}),
            sets=frozenset({"device iterations"}),
        )


def accumulation(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """More micro-batches per weight update."""
    if not found.training:
        return
    paid = {
        "the call from the host": found.breakdown["host_call"],
        "the optimizer and the exchange of gradients between replicas": found.time.update.cycles.total,
        "filling and draining the pipeline": found.breakdown["pipeline_idle"],
    }
    once, step = sum(paid.values()), found.cycles_per_step
    if once < _ONCE * step:
        return
    largest = sorted(paid.items(), key=lambda each: -each[1])
    listed = ", ".join(f"{cycles / step:.0%} {what}" for what, cycles in largest if cycles >= 0.01 * step)
    now = found.loops.gradient_accumulation
    for factor in (2, 4, 8):
        yield Change(
            rule="accumulation",
            title=f"Accumulate gradients of {now * factor} micro-batches",
            why=f"{once / step:.0%} of a step is spent once per step and not per micro-batch: {listed}.",
            code=study.subject.dialect.accumulation(now * factor),
            cost=f"The global batch becomes {factor} times as large; adapt the learning rate.",
            apply=edited(loops={"gradient_accumulation": now * factor}),
            sets=frozenset({"accumulation"}),
        )


def micro_batch(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Suggest larger micro-batches if memory is free, and smaller ones if it is short."""
    samples = found.samples
    share = found.memory.max_tile_bytes / found.memory.tile_memory_bytes
    if share < _ROOMY:
        for factor in (2, 4):
            yield _sized(study, found, samples * factor)
    if share > CLOSE:
        for divisor in (2, 4, 8):
            if samples % divisor == 0:
                yield _sized(study, found, samples // divisor)


_WHY_SMALLER = "Activations and temporaries shrink with the micro-batch."


def _why_larger(found: Estimate, *, shares_call: bool) -> str:
    room = f"The fullest tile has {found.memory.headroom:.0%} of its memory free, and larger ops use tiles better."
    call = found.breakdown["host_call"] / found.cycles_per_step
    if not shares_call or call < _WAITING:
        return room
    return f"{room} The call from the host, {call:.0%} of a step, is shared by more samples."


def can_run(study: Study, found: Estimate, micro_batches: int) -> bool:
    """Whether the program can run with so many micro-batches per update (training) or call."""
    stages = found.program.forward_stages if found.deployment.execution == "pipelined" else 1
    return study.subject.dialect.micro_batches(micro_batches, stages, found.training) == micro_batches


def _sized(study: Study, found: Estimate, samples: int) -> Change:
    """Micro-batches of `samples`, with as many of them per update as the global batch needs."""
    now, turns = found.samples, found.loops.gradient_accumulation
    larger = samples > now
    wanted = max(1, turns * now // samples)
    keeps = found.training and turns * now % samples == 0 and can_run(study, found, wanted)
    code = study.subject.dialect.micro_batch(samples)
    loops = {}
    cost = "Latency grows." if larger else "Ops become smaller and use the tiles less well."
    if keeps and wanted != turns:
        code += study.subject.dialect.accumulation(wanted)
        loops = {"gradient_accumulation": wanted}
        cost = "The global batch stays the same."
    elif found.training and not keeps:
        cost = f"The global batch changes from {now * turns} to {samples * turns} samples per replica."
    return Change(
        rule="larger micro-batch" if larger else "smaller micro-batch",
        title=f"Use micro-batches of {samples} sample{'s' * (samples > 1)} instead of {now}",
        why=_why_larger(found, shares_call=not loops) if larger else _WHY_SMALLER,
        code=code,
        cost=cost,
        apply=edited(variant={"micro_batch": samples}, loops=loops),
        sets=frozenset({"micro-batch", "accumulation"}),
    )
