"""An estimate in a few lines of text, each figure called modelled and given with its band."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tremula.estimate.bands import band
from tremula.formatting import counted, duration
from tremula.step_parts import part_title

if TYPE_CHECKING:
    from tremula.estimate.estimate import Estimate

#: unknown ops that a summary names
_NAMED = 5


def summary(estimate: Estimate) -> str:
    """The most important figures."""
    loops, system = estimate.loops, estimate.system
    kind = "weight update" if estimate.training else "micro-batch"
    ipus = loops.replicas * estimate.deployment.ipus_per_replica
    timing = estimate.time_band
    low, high = timing.around(estimate.throughput)
    lines = [
        f"Modelled for {system.chip.title}, {ipus} of {counted(system.ipus, 'IPU')} of {system.name} "
        f"({counted(loops.replicas, 'replica')} x {counted(estimate.deployment.ipus_per_replica, 'IPU')}, "
        f"{estimate.deployment.execution}); model version {estimate.version}",
        f"  modelled time per {kind}: {duration(estimate.seconds_per_step)} ({estimate.cycles_per_step:,.0f} cycles)",
        f"  modelled throughput: {estimate.throughput:,.1f} samples/s; likely {low:,.1f} to {high:,.1f} ({timing})",
        f"  modelled latency of a micro-batch: {duration(estimate.latency_seconds)}",
        "  where the time goes: " + _shares(estimate),
    ]
    pipeline = estimate.time.pipeline
    if pipeline is not None:
        lines.append(
            f"  pipeline: {pipeline.stages} stages, {pipeline.cycles} cycles for {pipeline.micro_batches} "
            f"micro-batches, IPU {pipeline.bottleneck} is the slowest, balance {pipeline.balance:.0%}"
        )
    rate = estimate.flops_per_step / estimate.seconds_per_step / estimate.deployment.ipus_per_replica
    lines.append(
        f"  modelled work: {estimate.supersteps:,} supersteps per {kind}, tile balance {estimate.tile_balance:.0%}, "
        f"{rate / 1e12:.3g} TFLOP/s per IPU"
    )
    report = estimate.memory
    fullest = report.fullest
    state = "" if report.fits else "OUT OF MEMORY, "
    lines.append(
        f"  modelled memory: {report.max_tile_bytes:,} of {report.tile_memory_bytes:,} bytes on the fullest tile of "
        f"IPU {fullest.ipu} ({1 - report.headroom:.0%}; {band('memory')}), at {fullest.peak.op}"
    )
    lines.append(f"  {state}{report.fit} ({report.fit.evidence})")
    if estimate.pressure is not None:
        lines.append(f"  {estimate.pressure.in_words()}")
    if estimate.host_ops:
        lines.append(f"  {len(estimate.host_ops)} ops run on the host; that time is not modelled")
    unknown = estimate.unknown_ops
    if unknown:
        named = ", ".join(sorted({op.target for op in unknown})[:_NAMED])
        share = sum(op.share for op in unknown)
        lines.append(f"  {len(unknown)} ops are costed by a fallback ({share:.1%} of the cycles): {named}")
    return "\n".join(lines)


def _shares(estimate: Estimate) -> str:
    total = estimate.cycles_per_step or 1.0
    ranked = sorted(estimate.breakdown.items(), key=lambda item: item[1], reverse=True)
    return ", ".join(
        f"{part_title(name)} {value / total:.0%}" for name, value in ranked if value / total >= 0.005
    )
