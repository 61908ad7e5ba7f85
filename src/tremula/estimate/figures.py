"""The figures of an estimate that reports and profiles show, each with the band of its kind.

Bands are those of rates (estimate/bands.toml); a band of times is the inverse of one of rates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from tremula.estimate.bands import Band, band
from tremula.estimate.energy import energy_joules, machine_power
from tremula.estimate.estimate import Estimate


@dataclass(frozen=True)
class Figure:
    """A modelled number and the range in which the true one probably lies: beside it where the model is biased."""

    value: float
    low: float
    high: float
    unit: str

    def scaled(self, factor: float, unit: str) -> Figure:
        """In another unit."""
        return Figure(self.value * factor, self.low * factor, self.high * factor, unit)


class Banded(NamedTuple):
    """A number with its band."""

    value: float
    unit: str
    band: Band

    @property
    def figure(self) -> Figure:
        """With the ends of the band as numbers."""
        return Figure(self.value, *self.band.around(self.value), self.unit)


def banded_figures(found: Estimate) -> dict[str, Banded]:
    """All figures that have a band, by name."""
    rate, inside = found.time_band, band("memory")
    time = rate.inverse
    memory, replicas = found.memory, found.loops.replicas
    flops = found.flops_per_step * replicas / found.seconds_per_step if found.seconds_per_step else 0.0
    figures = {
        "throughput": Banded(found.throughput, "samples/s", rate),
        "throughput_per_replica": Banded(found.throughput_per_replica, "samples/s", rate),
        "step_seconds": Banded(found.seconds_per_step, "s", time),
        "call_seconds": Banded(found.seconds_per_call, "s", time),
        "latency_seconds": Banded(found.latency_seconds, "s", time),
        "cycles_per_step": Banded(found.cycles_per_step, "cycles", time),
        "device_cycles_per_step": Banded(found.device_cycles_per_step, "cycles", time),
        "cycles_per_call": Banded(found.cycles_per_call, "cycles", time),
        "tile_bytes": Banded(memory.max_tile_bytes, "bytes", inside),
        "tile_share": Banded(memory.max_tile_bytes / memory.tile_memory_bytes, "of a tile", inside),
        "ipu_bytes": Banded(max(ipu.total_bytes for ipu in memory.ipus), "bytes", inside),
        "total_bytes": Banded(memory.total_bytes, "bytes", inside),
        "flops": Banded(flops, "FLOP/s", rate),
    }
    dtype, peak = matrix_peak(found)
    if peak:
        figures["utilisation"] = Banded(flops / peak, f"of the {dtype} peak", rate)
    energy, power = energy_joules(found), machine_power(found.system.machine)
    if energy is not None and power is not None:
        samples = found.samples * found.micro_batches_per_step * replicas
        used = replace(time, low=time.low * power.low, high=time.high * power.high)
        figures["energy_per_sample"] = Banded(energy / samples, "J", used)
    return figures


def matrix_peak(found: Estimate) -> tuple[str, float]:
    """The type in which most of the work is done, and what the matrix units of all IPUs could do in it, in FLOP/s."""
    dtype, ipus = matrix_dtype(found), found.loops.replicas * found.deployment.ipus_per_replica
    return dtype, found.chip.peak_flops(
        dtype, found.deployment.partials if dtype == "fp16" else "fp32"
    ) * ipus


def matrix_dtype(found: Estimate) -> str:
    """The type in which most of the floating-point work is done."""
    done: dict[str, float] = {}
    for op, cost in zip(found.program.ops, found.costs.costs, strict=True):
        for work in op.works:
            dtype = getattr(work, "dtype", "")
            if dtype in ("fp16", "fp32"):
                done[dtype] = done.get(dtype, 0.0) + cost.flops
    return max(done, key=done.__getitem__, default="fp32")
