"""The figures of one configuration as plain numbers with their bands: tables, files and comparisons are made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tremula.estimate.estimate import VERSION, Estimate
from tremula.estimate.figures import Figure, banded_figures, matrix_dtype
from tremula.formatting import amount, share
from tremula.hardware.catalogue import host_rates
from tremula.memory.verdict import FITTING, Fit, percentage
from tremula.step_parts import HOST_PARTS, STEP_PARTS, with_host_parts

#: figures of a result; those of profiles are more
_FIGURES = (
    "throughput", "step_seconds", "call_seconds", "latency_seconds", "cycles_per_step", "tile_bytes", "tile_share",
    "ipu_bytes", "flops", "utilisation", "energy_per_sample",
)  # fmt: skip
#: the figure with the probability of fitting; files of older versions have none
FIT_PROBABILITY = "fit_probability"
#: modules of a result; the rest is summed up
_MOST_MODULES = 400


@dataclass(frozen=True)
class Result:
    """All figures of one configuration, or the problem why there are none."""

    name: str
    training: bool
    #: what was modelled, by name: target, system, ipus, replicas, stages, micro_batch ...
    setting: Mapping[str, Any]
    problem: str = ""
    notes: tuple[str, ...] = ()
    #: yes, likely, unlikely, no; the probability is the figure `fit_probability`
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

    def __post_init__(self) -> None:
        step, turns = self.figures.get("step_seconds"), self.setting.get("device_iterations", 1)
        if step is not None and isinstance(turns, int) and turns > 0:
            object.__setattr__(self, "shares", with_host_parts(self.shares, step.value, turns))

    def __getitem__(self, name: str) -> Figure:
        return self.figures[name]

    def figure(self, name: str) -> Figure | None:
        """A figure, if it is known."""
        return self.figures.get(name)

    @property
    def runs(self) -> bool:
        """Whether it fits more probably than not."""
        return not self.problem and self.fits in FITTING

    @property
    def fit_probability(self) -> float | None:
        """The probability that it fits, if that is known."""
        known = self.figure(FIT_PROBABILITY)
        return None if known is None else known.value

    @property
    def fit_words(self) -> str:
        """Whether it fits, with the probability if that is known."""
        known = self.fit_probability
        return self.fits if known is None or not self.fits else f"{self.fits} ({percentage(known)})"

    @property
    def ipus(self) -> int:
        return int(self.setting["ipus"])

    @property
    def throughput(self) -> float:
        """Samples per second of all replicas."""
        return self["throughput"].value

    @property
    def without_host(self) -> float:
        """Samples per second if calls from the host and transfers with it took no time."""
        return self.throughput / max(1e-9, 1.0 - sum(self.shares.get(key, 0.0) for key in HOST_PARTS))

    @property
    def tile_share(self) -> float:
        """Bytes on the fullest tile, as a share of its memory."""
        return self["tile_share"].value

    @property
    def brief(self) -> str:
        """Speed and memory in a few words."""
        known = self.fit_probability
        chance = "" if known is None else f" ({percentage(known)})"
        fits = "" if self.runs else f", does not fit{chance}"
        return f"{amount(self.throughput)} samples/s, {share(self.tile_share)} of a tile{fits}"

    @property
    def short_setting(self) -> str:
        """What distinguishes it from others of the same model."""
        names = ("target", "ipus", "stages", "micro_batch")
        return ", ".join(f"{name} {self.setting[name]}" for name in names if name in self.setting)


def result_of(
    found: Estimate, *, name: str = "", notes: tuple[str, ...] = (), question: Mapping[str, Any] | None = None
) -> Result:
    """The figures of an estimate; target and precision are named as in `question`, if they are there."""
    figures = {name: each.figure for name, each in banded_figures(found).items() if name in _FIGURES}
    named = {k: v for k, v in (question or {}).items() if k in ("target", "precision") and v is not None}
    if found.pressure is not None:
        notes = (*notes, f"It does not fit as configured: {found.pressure.in_words()}.")
    return Result(
        name=name,
        training=found.training,
        setting={**_setting(found), **named},
        notes=notes,
        fits=found.memory.fit.verdict,
        figures={**figures, FIT_PROBABILITY: probability_figure(found.memory.fit)},
        shares={part.key: found.breakdown[part.key] / (found.cycles_per_step or 1.0) for part in STEP_PARTS},
        memory={c.value: size for c, size in found.memory.fullest.by_category.items() if size},
        modules=_modules(found),
        batch=batch_arithmetic(found),
    )


def probability_figure(fit: Fit) -> Figure:
    """The probability of fitting as a figure without a range."""
    return Figure(fit.probability, fit.probability, fit.probability, "of 1")


def batch_arithmetic(found: Estimate) -> str:
    """How the batch is made up, in one line."""
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
        "precision": matrix_dtype(found),
        "partials": deployment.partials,
        "host_rates": host_rates(found.system.machine),
    }


def _modules(found: Estimate) -> dict[str, float]:
    spent: dict[str, float] = {}
    for op in found.ops:
        spent[op.module] = spent.get(op.module, 0.0) + op.cycles
    ranked = sorted(spent.items(), key=lambda item: item[1], reverse=True)
    listed = dict(ranked[:_MOST_MODULES])
    if len(ranked) > _MOST_MODULES:
        listed["(others)"] = sum(cycles for _, cycles in ranked[_MOST_MODULES:])
    return listed
