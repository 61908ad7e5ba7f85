"""The figures of one answer as plain numbers with their bands: what tables, files and comparisons are made of.

Bands are those of the chip model (estimate/bands.toml): shares of a whole have none of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tremula.estimate.bands import band
from tremula.estimate.energy import energy_joules, machine_power
from tremula.estimate.estimate import VERSION, Estimate

if TYPE_CHECKING:
    from tremula.study.answer import Answer

#: parts of a step's time, in the order of reports
PARTS = ("compute", "exchange", "sync", "host", "inter_ipu", "collectives", "streaming", "pipeline_idle")

#: settings that are told in the words of the question
_AS_ASKED = ("target", "precision")


@dataclass(frozen=True)
class Figure:
    """A modelled number and the range in which the true one probably lies."""

    value: float
    low: float
    high: float
    unit: str

    def scaled(self, factor: float, unit: str) -> Figure:
        """In another unit."""
        return Figure(self.value * factor, self.low * factor, self.high * factor, unit)


@dataclass(frozen=True)
class Finding:
    """All figures of one configuration. A field is None where nothing is known."""

    name: str
    training: bool
    #: what was modelled, by name: target, system, ipus, replicas, stages, micro_batch ...
    setting: Mapping[str, Any]
    problem: str = ""
    notes: tuple[str, ...] = ()
    #: yes, likely, unlikely, no
    fits: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    #: share of each part in the time of a step
    shares: Mapping[str, float] = field(default_factory=dict)
    #: bytes of the fullest IPU by what they are for
    memory: Mapping[str, int] = field(default_factory=dict)
    #: cycles of a step of one replica by the module that they are spent in, largest first
    modules: Mapping[str, float] = field(default_factory=dict)
    batch: str = ""
    model_version: str = VERSION

    def __getitem__(self, name: str) -> Figure:
        return self.figures[name]

    @property
    def short_setting(self) -> str:
        """What tells it from others of the same model."""
        names = ("target", "ipus", "stages", "micro_batch")
        return ", ".join(f"{name} {self.setting[name]}" for name in names if name in self.setting)


def finding_of(answer: Answer) -> Finding:
    """The figures of `answer`."""
    found, case = answer.estimate, answer.case
    asked = {key: value for key, value in asdict(answer.setting).items() if value is not None}
    if found is None or case is None:
        return Finding(answer.name, False, asked, problem=answer.problem, notes=answer.notes)
    return finding_of_estimate(found, name=answer.name, notes=answer.notes, asked=asked)


def finding_of_estimate(
    found: Estimate,
    *,
    name: str = "",
    notes: tuple[str, ...] = (),
    asked: Mapping[str, Any] | None = None,
) -> Finding:
    """The figures of an estimate."""
    figures = _figures(found)
    return Finding(
        name=name,
        training=found.training,
        setting={
            **_setting(found),
            **{k: v for k, v in (asked or {}).items() if k in ("target", "precision")},
        },
        notes=notes,
        fits=verdict_of(figures["tile_share"]),
        figures=figures,
        shares={part: found.breakdown[part] / (found.cycles_per_step or 1.0) for part in PARTS},
        memory={c.value: size for c, size in found.memory.fullest.by_category.items() if size},
        modules=_modules(found),
        batch=batch_arithmetic(found),
    )


def verdict_of(tile: Figure) -> str:
    """Whether it fits, by the share of the fullest tile with its range: yes, likely, unlikely or no."""
    if tile.value <= 1.0:
        return "yes" if tile.high <= 1.0 else "likely"
    return "no" if tile.low > 1.0 else "unlikely"


def batch_arithmetic(found: Estimate) -> str:
    """How the batch comes about, in one line."""
    loops, samples = found.loops, found.samples
    replicas = "" if loops.replicas == 1 else f" x {loops.replicas} replicas"
    per_call = samples * found.micro_batches_per_step * loops.replicas
    iterations = loops.device_iterations
    if not found.training:
        per_call *= iterations
        return f"micro-batch {samples} x {iterations} device iterations{replicas} = {per_call:,} samples per call"
    line = (
        f"micro-batch {samples} x {loops.gradient_accumulation} accumulation{replicas} = global batch {per_call:,} "
        "per weight update"
    )
    return f"{line}; x {iterations} device iterations = {per_call * iterations:,} samples per call"


def _setting(found: Estimate) -> dict[str, Any]:
    loops, deployment = found.loops, found.deployment
    return {
        "target": found.chip.name,
        "system": found.system.name,
        "ipus": loops.replicas * deployment.ipus_per_replica,
        "replicas": loops.replicas,
        "stages": deployment.ipus_per_replica,
        "execution": deployment.execution,
        "micro_batch": found.samples,
        "accumulation": loops.gradient_accumulation,
        "device_iterations": loops.device_iterations,
        "recompute": deployment.recompute,
        "precision": _matrix_dtype(found),
        "partials": deployment.partials,
    }


def _figures(found: Estimate) -> dict[str, Figure]:
    rate = found.time_band
    memory = found.memory
    inside = band("memory")

    def time(seconds: float) -> Figure:
        # a band on throughput is one on its inverse, ends exchanged
        return Figure(seconds, seconds / rate.high, seconds / rate.low, "s")

    def throughput(value: float, unit: str) -> Figure:
        return Figure(value, *rate.around(value), unit)

    def size(value: float) -> Figure:
        return Figure(value, *inside.around(value), "bytes")

    ipus = found.loops.replicas * found.deployment.ipus_per_replica
    flops = (
        found.flops_per_step * found.loops.replicas / found.seconds_per_step
        if found.seconds_per_step
        else 0.0
    )
    figures = {
        "throughput": throughput(found.throughput, "samples/s"),
        "step_seconds": time(found.seconds_per_step),
        "call_seconds": time(found.seconds_per_call),
        "latency_seconds": time(found.latency_seconds),
        "cycles_per_step": time(found.seconds_per_step).scaled(found.chip.clock_hz, "cycles"),
        "tile_bytes": size(memory.max_tile_bytes),
        "tile_share": Figure(
            memory.max_tile_bytes / memory.tile_memory_bytes,
            *inside.around(memory.max_tile_bytes / memory.tile_memory_bytes),
            "of a tile",
        ),
        "ipu_bytes": size(max(ipu.total_bytes for ipu in memory.ipus)),
        "flops": throughput(flops, "FLOP/s"),
    }
    dtype = _matrix_dtype(found)
    peak = found.chip.peak_flops(dtype, found.deployment.partials if dtype == "fp16" else "fp32") * ipus
    if peak:
        figures["utilisation"] = throughput(flops / peak, f"of the {dtype} peak")
    energy, power = energy_joules(found), machine_power(found.system.machine)
    if energy is not None and power is not None:
        samples = found.samples * found.micro_batches_per_step * found.loops.replicas
        used = time(energy / samples)
        figures["energy_per_sample"] = Figure(used.value, used.low * power.low, used.high * power.high, "J")
    return figures


def _matrix_dtype(found: Estimate) -> str:
    """The type that most of the floating-point work is done in."""
    done: dict[str, float] = {}
    for op, cost in zip(found.program.ops, found.costs.costs, strict=True):
        for work in op.works:
            dtype = getattr(work, "dtype", "")
            if dtype in ("fp16", "fp32"):
                done[dtype] = done.get(dtype, 0.0) + cost.flops
    return max(done, key=done.__getitem__, default="fp32")


def _modules(found: Estimate, limit: int = 400) -> dict[str, float]:
    spent: dict[str, float] = {}
    for op in found.ops:
        spent[op.module] = spent.get(op.module, 0.0) + op.cycles
    ranked = sorted(spent.items(), key=lambda item: item[1], reverse=True)
    kept = dict(ranked[:limit])
    if len(ranked) > limit:
        kept["(others)"] = sum(cycles for _, cycles in ranked[limit:])
    return kept
