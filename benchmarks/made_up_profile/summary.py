"""What the summary of a profile shows."""

from __future__ import annotations

from collections.abc import Iterator

from tremula.profile import model

from .scale import CLOCK_HZ, TILE_BYTES, TILES, Scale


def summary_rows(scale: Scale, ops: list[model.Op]) -> Iterator[model.Row]:
    """Target, options and figures of the program of these ops."""
    yield model.Target("mk2-gc200", "Mk2 GC200", "pod64", 64, 1, scale.ipus, TILES, TILE_BYTES, CLOCK_HZ)
    for section, name, value in (
        ("run", "model", "made up"), ("run", "kind", "training"), ("run", "fits", "likely"),
        ("deployment", "execution", "pipelined"), ("loops", "device_iterations", "1"),
        ("loops", "gradient_accumulation", "8"), ("engine", "autoReport.all", "true"),
    ):  # fmt: skip
        yield model.Option(section, name, value)
    work = sum(op.cycles for op in ops)
    step = work / scale.ipus * 1.3
    seconds = step / CLOCK_HZ
    for name, value, unit in (
        ("throughput", 8 / seconds, "samples/s"), ("throughput_per_replica", 8 / seconds, "samples/s"),
        ("cycles_per_step", step, "cycles"), ("seconds_per_step", seconds, "s"),
        ("device_cycles_per_step", step * 0.95, "cycles"), ("cycles_per_call", step, "cycles"),
        ("seconds_per_call", seconds, "s"), ("latency_seconds", seconds * 2, "s"),
        ("max_tile_bytes", 0.8 * TILE_BYTES, "bytes"),
        ("total_bytes", 0.7 * TILE_BYTES * TILES * scale.ipus, "bytes"),
        ("fit_probability", 0.7, "of 1"), ("work_cycles_per_step", work, "cycles"),
        ("flops_per_step", sum(op.flops for op in ops), "FLOP"), ("tile_balance", 0.6, "of 1"),
        ("samples_per_micro_batch", 1.0, "samples"), ("micro_batches_per_step", 8.0, "micro-batches"),
    ):  # fmt: skip
        yield model.Figure(name, value, unit, 0.8 * value, 1.2 * value, "made up")
    for count_name, count in (
        ("ops", scale.ops),
        ("ops with work", scale.ops),
        ("variables", 3 * scale.ops),
        ("distinct plans", scale.plans),
    ):
        yield model.Count(count_name, count)
    for part, share in (
        ("compute", 0.6), ("exchange", 0.2), ("sync", 0.05), ("inter_ipu", 0.05), ("host_call", 0.02),
        ("host_transfer", 0.03), ("streaming", 0.0), ("collectives", 0.0), ("pipeline_idle", 0.05),
    ):  # fmt: skip
        yield model.Part(part, share * step)
    for stage in range(2 * scale.ipus):
        phase = "forward" if stage < scale.ipus else "backward"
        mine = work / 16 / scale.ipus
        yield model.Stage(
            stage,
            scale.ipu_of_stage(stage),
            phase,
            mine * (stage < scale.ipus),
            0.0,
            mine * (stage >= scale.ipus),
            4 << 20,
        )
    why = model.Json('{"plan":"made up"}')
    yield model.Transfer("copies between IPUs", "copy", 0.05 * step, 8 << 28, why)
    yield model.Transfer("host transfers", "host", 0.03 * step, 1 << 24, why)
