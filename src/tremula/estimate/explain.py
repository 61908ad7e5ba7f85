"""Explains a figure as a tree from a total down to plans, formulas and their sources."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tremula.errors import Error
from tremula.estimate.bands import band
from tremula.formatting import ShownAsText
from tremula.invariants import present
from tremula.memory.verdict import Fit, curve
from tremula.plan.cost import Cost, Why
from tremula.step_parts import HOST_PARTS, part_title

if TYPE_CHECKING:
    from tremula.estimate.estimate import Estimate, OpTime

#: ops that an explanation of a total lists
_LARGEST = 10


@dataclass(frozen=True)
class Explanation(ShownAsText):
    """A figure, what it is made of, and where that comes from."""

    title: str
    value: float | None = None
    unit: str = ""
    #: the plan or the rule behind it
    text: str = ""
    formula: str = ""
    source: str = ""
    #: plans that were considered and not taken
    rejected: tuple[str, ...] = ()
    parts: tuple[Explanation, ...] = ()

    def lines(self, depth: int = 0) -> Iterator[str]:
        """Indented text, one line after the other."""
        indent = "  " * depth
        yield f"{indent}{self.title}" + ("" if self.value is None else f": {_number(self.value)} {self.unit}")
        for label, text in (("", self.text), ("= ", self.formula), ("source: ", self.source)):
            if text:
                yield f"{indent}  {label}{text}"
        for each in self.rejected:
            yield f"{indent}  not taken: {each}"
        for part in self.parts:
            yield from part.lines(depth + 1)

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.4g}"


def of_why(title: str, why: Why, value: float | None = None, unit: str = "") -> Explanation:
    """The explanation that a planner gave."""
    figures = ", ".join(f"{name} {_number(float(number))}" for name, number in why.figures.items())
    return Explanation(
        title=title,
        value=value,
        unit=unit,
        text=why.plan + (f" ({figures})" if figures else ""),
        formula=why.formula,
        source=why.source,
        rejected=tuple(f"{a.plan}: {_number(a.cycles)} cycles, {a.reason}" for a in why.alternatives),
        parts=tuple(of_why(f"part {number}", part) for number, part in enumerate(why.parts, 1)),
    )


def of_cost(title: str, cost: Cost) -> Explanation:
    """A cost: its reason, then its supersteps."""
    steps = tuple(
        Explanation(
            step.name + (f" x {step.repeats}" if step.repeats > 1 else ""),
            step.cycles,
            "cycles",
            f"compute {_number(step.compute_cycles)}, exchange {_number(step.exchange_cycles)}, sync "
            f"{_number(step.sync_cycles)} on {step.tiles:,} tiles, balance {step.balance:.0%}",
        )
        for step in cost.supersteps
    )
    base = of_why(title, cost.why, cost.cycles, "cycles")
    return replace(base, parts=base.parts + steps)


def explain(estimate: Estimate, name: str) -> Explanation:
    """Explain `name`, a figure or an op of `estimate`.

    Raises:
        Error: there is no such figure or op.
    """
    figure = FIGURES.get(name)
    if figure is not None:
        return figure(estimate)
    for op in estimate.ops:
        if op.name == name or op.path == name:
            return _op(op)
    raise unknown_figure(name, [op.name for op in estimate.ops])


def unknown_figure(name: str, ops: Sequence[str] = ()) -> Error:
    """What to say of a name that nothing has."""
    close = difflib.get_close_matches(name, [*FIGURES, *ops], 3)
    hint = f" Did you mean {', '.join(close)}?" if close else ""
    return Error(
        f"There is no figure or op called {name!r}.{hint} Figures: {', '.join(FIGURES)}. Ops have names like addmm_3."
    )


def _op(op: OpTime) -> Explanation:
    error = band(op.category).inverse
    low, high = error.around(op.cycles)
    where = f"{op.phase} pass, IPU {op.ipu}, stage {op.stage}" + (f", {op.source}" if op.source else "")
    return Explanation(
        f"{op.path} ({op.target})",
        op.cycles,
        "cycles per step",
        f"{where}; {op.runs} runs of {_number(op.cost.cycles)} cycles, {op.share:.1%} of all ops; "
        f"likely {_number(low)} to {_number(high)} ({op.category}: {error})",
        parts=(of_cost("one run", op.cost),),
    )


def _step(estimate: Estimate) -> Explanation:
    time = estimate.time
    parts = [_breakdown(estimate)]
    if time.pipeline is not None:
        parts.append(_pipeline(estimate))
    else:
        turns, each = estimate.micro_batches_per_step, time.micro_batch.total
        formula = f"{turns} x {_number(each)}"
        parts.append(Explanation("micro-batches", turns * each, "cycles", formula=formula))
    if estimate.training:
        parts.append(_update(estimate))
    parts.append(_largest(estimate))
    return Explanation("cycles per step", estimate.cycles_per_step, "cycles", "modelled", parts=tuple(parts))


def _breakdown(estimate: Estimate) -> Explanation:
    parts = tuple(
        Explanation(part_title(name), value, "cycles", parts=_reasons(estimate, name))
        for name, value in estimate.breakdown.items()
        if value
    )
    return Explanation("by what it goes to", sum(estimate.breakdown.values()), "cycles", parts=parts)


def _reasons(estimate: Estimate, *names: str) -> tuple[Explanation, ...]:
    found = estimate.time.why.items()
    return tuple(of_why(key, why) for key, why in found if key.split(":")[0] in names)


def _pipeline(estimate: Estimate) -> Explanation:
    pipeline = present(estimate.time.pipeline, "the pipeline")
    stages = tuple(
        Explanation(
            f"stage {stage.number} on IPU {stage.ipu}",
            stage.work.total,
            "cycles",
            f"forward {_number(stage.forward.total)}, again {_number(stage.recompute.total)}, backward "
            f"{_number(stage.backward.total)}; {stage.copied_bytes:,} bytes leave for other IPUs",
        )
        for stage in estimate.time.stages
    )
    return Explanation(
        "pipeline",
        pipeline.total.total,
        "cycles",
        f"{pipeline.stages} stages, {pipeline.micro_batches} micro-batches, {pipeline.cycles} cycles; IPU "
        f"{pipeline.bottleneck} is the slowest, balance {pipeline.balance:.0%}",
        "cycles with all stages at work x micro-batches + filling and draining; a cycle lasts as long as its "
        "busiest IPU, then copies",
        "PopART transforms/pipeline.cpp and its notes on pipelining",
        parts=stages,
    )


def _update(estimate: Estimate) -> Explanation:
    update = estimate.time.update
    return Explanation(
        "once per weight update",
        update.cycles.total,
        "cycles",
        f"arithmetic {_number(update.arithmetic.total)}, collectives {_number(update.exchange.total)}, streaming "
        f"memory {_number(update.streaming.total)}",
        parts=tuple(of_why(key, why) for key, why in update.why.items()),
    )


def _largest(estimate: Estimate) -> Explanation:
    ranked = sorted(estimate.ops, key=lambda op: op.cycles, reverse=True)[:_LARGEST]
    parts = tuple(
        Explanation(op.path, op.cycles, "cycles per step", f"{op.share:.1%}: {op.cost.why.plan}")
        for op in ranked
    )
    return Explanation("largest ops", parts=parts)


def _throughput(estimate: Estimate) -> Explanation:
    return Explanation(
        "throughput",
        estimate.throughput,
        "samples/s",
        "modelled",
        f"{estimate.samples} samples x {estimate.micro_batches_per_step} micro-batches x {estimate.loops.replicas} "
        f"replicas x {estimate.loops.device_iterations} iterations / {estimate.seconds_per_call:.4g} s per call",
        parts=(_step(estimate), *_reasons(estimate, *HOST_PARTS)),
    )


def _latency(estimate: Estimate) -> Explanation:
    return Explanation(
        "latency",
        estimate.latency_seconds,
        "s",
        "from a batch at the host to its results, nothing else under way",
        "all stages of a pipeline at the pace of the slowest, or all ops; then the call and its transfers",
        parts=_reasons(estimate, *HOST_PARTS),
    )


def _memory(estimate: Estimate) -> Explanation:
    report = estimate.memory
    ipus = []
    for ipu in report.ipus:
        uses = tuple(
            Explanation(category.value, float(size), "bytes")
            for category, size in ipu.by_category.items()
            if size
        )
        top = tuple(
            Explanation(f"{each.name} ({each.category.value})", float(each.bytes), "bytes")
            for each in ipu.contributors[:_LARGEST]
        )
        ipus.append(
            Explanation(
                f"IPU {ipu.ipu}",
                float(ipu.max_tile_bytes),
                "bytes on the fullest tile",
                f"tile {ipu.fullest_tile}, of {ipu.tile_memory_bytes:,}; mean tile {ipu.mean_tile_bytes:,.0f}; fullest "
                f"at {ipu.peak.op} of the {ipu.peak.phase} pass",
                parts=(*uses, Explanation("largest", parts=top)),
            )
        )
    pressure = estimate.pressure
    if pressure is not None:
        ipus.append(
            Explanation(
                "planned within the memory that is left",
                float(pressure.memory.max_tile_bytes),
                "bytes on the fullest tile",
                pressure.in_words(),
                "temporaries of each op at most: tile memory - what is always live - what is alive when it runs",
            )
        )
    return Explanation(
        "memory",
        float(report.max_tile_bytes),
        "bytes on the fullest tile",
        "tensors by their lifetimes, laid out linearly; code once per distinct op (docs/chip-model.md)",
        parts=(_fit(report.fit), *ipus),
    )


def _fit(fit: Fit) -> Explanation:
    used = curve()
    return Explanation(
        f"fits: {fit.words}",
        text=fit.evidence,
        formula=f"{used.lapse:g} + {1 - 2 * used.lapse:g} / (1 + (fill / {used.centre:.3g}) ^ {1 / used.width:.3g}), "
        f"fill {fit.fill:.3g} of a tile",
        source=f"{used.rows} published configurations that ran or failed (memory/fit.toml, docs/accuracy.md)",
    )


def _of_peak(estimate: Estimate) -> Explanation:
    # imported here: figures are made of estimates, which explain themselves
    from tremula.estimate.figures import matrix_peak

    dtype, peak = matrix_peak(estimate)
    ipus = estimate.loops.replicas * estimate.deployment.ipus_per_replica
    flops, seconds = estimate.flops_per_step * estimate.loops.replicas, estimate.seconds_per_step
    return Explanation(
        "of peak",
        flops / seconds / peak if seconds and peak else 0.0,
        f"of the {dtype} peak",
        "additions and multiplications of all ops, recomputed ones too, over what the matrix units could do in the "
        "time of a step; waiting for the host and for other IPUs is part of that time",
        "FLOP of a step / seconds of a step / peak",
        parts=(
            Explanation("work of a step", flops, "FLOP", "all replicas; most of it is done in " + dtype),
            Explanation(
                "peak",
                peak,
                "FLOP/s",
                f"{estimate.chip.name}: {ipus} x {peak / ipus / 1e12:.1f} TFLOP/s, all tiles, every cycle a product",
                source="tiles, clock and accumulating units in the chip's file (docs/hardware.md)",
            ),
            Explanation("time of a step", seconds, "s", parts=(_breakdown(estimate),)),
        ),
    )


FIGURES: dict[str, Callable[[Estimate], Explanation]] = {
    "cycles_per_step": _step,
    "seconds_per_step": _step,
    "throughput": _throughput,
    "latency": _latency,
    "memory": _memory,
    "breakdown": _breakdown,
    "update": _update,
    "largest_ops": _largest,
    "of_peak": _of_peak,
    "utilisation": _of_peak,
}
