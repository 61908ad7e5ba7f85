"""What was modelled and with which settings, and the figures of the summary with their error bands.

Figures and bands are the estimate's. The bands are of rates; those of times are their reciprocals. Figures without
a published comparison have no band.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from tremula.estimate.bands import Band, band
from tremula.estimate.estimate import Estimate
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
    for section, settings in (("deployment", estimate.deployment), ("loops", estimate.loops)):
        for field in fields(settings):
            value = getattr(settings, field.name)
            if isinstance(value, frozenset):
                value = f"{len(value)} tensors"
            yield model.Option(section, field.name, str(value))
    for name, text in sorted(engine.items()):
        yield model.Option("engine", name, text)


def figures(estimate: Estimate) -> Iterator[model.Figure]:
    """The figures that a summary shows."""
    rate, memory = estimate.time_band, band("memory")
    yield _with_band("throughput", estimate.throughput, "samples/s", rate)
    yield _with_band("throughput_per_replica", estimate.throughput_per_replica, "samples/s", rate)
    # the bands are of rates: what is faster takes less time
    span = Band(1 / rate.high, 1 / rate.low, rate.rows)
    for name, value, unit in (
        ("cycles_per_step", estimate.cycles_per_step, "cycles"),
        ("seconds_per_step", estimate.seconds_per_step, "s"),
        ("device_cycles_per_step", estimate.device_cycles_per_step, "cycles"),
        ("cycles_per_call", estimate.cycles_per_call, "cycles"),
        ("seconds_per_call", estimate.seconds_per_call, "s"),
        ("latency_seconds", estimate.latency_seconds, "s"),
    ):
        yield _with_band(name, value, unit, span)
    yield _with_band("max_tile_bytes", estimate.memory.max_tile_bytes, "bytes", memory)
    yield _with_band("total_bytes", estimate.memory.total_bytes, "bytes", memory)
    for name, value, unit in (
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


def _with_band(name: str, value: float, unit: str, error: Band) -> model.Figure:
    low, high = error.around(value)
    return model.Figure(name, value, unit, low, high, str(error))


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
