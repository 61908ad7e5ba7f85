"""The summary of a profile: what was modelled with which settings, and its figures with their error bands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from tremula.estimate.estimate import Estimate
from tremula.estimate.figures import banded_figures
from tremula.formatting import counted
from tremula.hardware.catalogue import host_rates
from tremula.profile import model


def target(estimate: Estimate) -> model.Target:
    """The chip and the system."""
    chip = estimate.chip
    return model.Target(
        chip=chip.name,
        title=chip.title,
        system=estimate.system.name,
        system_ipus=estimate.system.ipus,
        replicas=estimate.loops.replicas,
        ipus_per_replica=estimate.deployment.ipus_per_replica,
        tiles_per_ipu=chip.tiles,
        tile_memory_bytes=chip.tile_memory_bytes,
        clock_hz=float(chip.clock_hz),
    )


def options(estimate: Estimate, engine: Mapping[str, str], run: Mapping[str, str]) -> Iterator[model.Option]:
    """Settings by section."""
    for name, value in run.items():
        yield model.Option("run", name, value)
    yield model.Option("run", "kind", "training" if estimate.training else "inference")
    yield model.Option("run", "samples per micro-batch", str(estimate.samples))
    yield model.Option("run", "version of the chip model", estimate.version)
    yield model.Option("run", "fits", estimate.memory.fit.verdict)
    yield model.Option("run", "evidence of the fit", estimate.memory.fit.evidence)
    yield model.Option("run", "rates to and from the host", host_rates(estimate.system.machine))
    for section, settings in (("deployment", estimate.deployment), ("loops", estimate.loops)):
        for field in fields(settings):
            yield model.Option(section, field.name, _text(getattr(settings, field.name)))
    for name, text in sorted(engine.items()):
        yield model.Option("engine", name, text)


def _text(value: object) -> str:
    """A setting as people read it."""
    if isinstance(value, frozenset):
        return counted(len(value), "tensor")
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return (
            ", ".join(f"{str(name).replace('_', ' ')}: {_text(each)}" for name, each in value.items())
            or "none"
        )
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not set" if value is None else str(value)


#: name of a figure -> its name in profiles
NAMES_IN_PROFILES = {
    "throughput": "throughput",
    "throughput_per_replica": "throughput_per_replica",
    "cycles_per_step": "cycles_per_step",
    "step_seconds": "seconds_per_step",
    "device_cycles_per_step": "device_cycles_per_step",
    "cycles_per_call": "cycles_per_call",
    "call_seconds": "seconds_per_call",
    "latency_seconds": "latency_seconds",
    "tile_bytes": "max_tile_bytes",
    "total_bytes": "total_bytes",
}


def figures(estimate: Estimate) -> Iterator[model.Figure]:
    """The figures that a summary shows."""
    banded = banded_figures(estimate)
    for ours, name in NAMES_IN_PROFILES.items():
        value, unit, error = banded[ours]
        yield model.Figure(name, value, unit, *error.around(value), str(error))
    for name, value, unit in (
        ("fit_probability", estimate.memory.fit.probability, "of 1"),
        ("work_cycles_per_step", sum(op.cycles for op in estimate.ops), "cycles"),
        ("flops_per_step", estimate.flops_per_step, "FLOP"),
        ("tile_balance", estimate.tile_balance, "of 1"),
        ("samples_per_micro_batch", estimate.samples, "samples"),
        ("micro_batches_per_step", estimate.micro_batches_per_step, "micro-batches"),
    ):
        yield model.Figure(name, value, unit, value, value, "")
    pipeline = estimate.time.pipeline
    if pipeline is not None:
        for name, value, unit in (
            ("pipeline_stages", pipeline.stages, "stages"),
            ("pipeline_turns", pipeline.cycles, "turns"),
            ("pipeline_micro_batches", pipeline.micro_batches, "micro-batches"),
            ("pipeline_turn_cycles", pipeline.cycle.total, "cycles"),
            ("pipeline_balance", pipeline.balance, "of 1"),
            ("pipeline_bottleneck_ipu", pipeline.bottleneck, "IPU"),
        ):
            yield model.Figure(name, value, unit, value, value, "")


def counts(estimate: Estimate, plans: int) -> Iterator[model.Count]:
    """Numbers of things in the graph of a replica."""
    program = estimate.program
    storages = {tensor.storage for tensor in program.tensors}
    for name, count in (
        ("ops", len(program.ops)),
        ("ops with work", len(estimate.ops)),
        ("variables", len(storages)),
        ("tensors, views included", len(program.tensors)),
        ("distinct plans", plans),
        ("supersteps per step", estimate.supersteps),
        ("ops without a planner", len(estimate.unknown_ops)),
        ("ops on the host", len(estimate.host_ops)),
    ):
        yield model.Count(name, count)
