"""gc-flops: measures floating-point operations per second of this host and shows the peak of the modelled IPUs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from tremula.tools import tool
from tremula.tools.device_test import DeviceTest, Findings, source, test_parser, under_test

NAME = "gc-flops"
_PRECISIONS = {"half": "fp16", "fp16": "fp16", "single": "fp32", "fp32": "fp32"}


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = test_parser(
        NAME, "Measure matrix products on this host, and show the peak of the modelled device."
    )
    made.add_argument(
        "-p", "--precision", choices=tuple(_PRECISIONS), default="half", help="data type (default: half)"
    )
    tool.add_count(made, "--size", 512, "size of the matrices")
    made.add_argument(
        "--seconds", type=float, default=1.0, metavar="S", help="how long to measure (default: 1)"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    return tool.run(NAME, build_parser(), _test, arguments)


def _test(given: argparse.Namespace) -> int:
    dtype = _PRECISIONS[given.precision]
    with under_test(given.device_id) as test:
        measured = _measure(test, dtype, min(given.size, 16_384), min(max(given.seconds, 0.01), 600.0))
        chip, ipus = test.occupancy.system.hardware.chip, len(test.device.ipus)
    peak = ipus * chip.peak_flops(dtype, dtype)
    units = source(chip.name, "conv_units_half_half" if dtype == "fp16" else "conv_units_float", "chip")
    about = f"peak of the matrix units of {ipus} IPU(s) at {chip.clock_hz / 1e9:g} GHz; {units}"
    findings = Findings(
        {"ipu_id": given.device_id, "precision": dtype, "ipus": ipus, "flops": measured},
        {"GFLOP/s": measured / 1e9},
        {"GFLOP/s": (peak / 1e9, about)},
    )
    return findings.show(
        given, f"Matrix products in {dtype}, {given.size} x {given.size}, device {given.device_id}:"
    )


def _measure(test: DeviceTest, dtype: str, size: int, seconds: float) -> float:
    """Operations per second of products of square matrices; hosts multiply half-precision data in single precision."""
    import numpy as np

    kind, single = np.dtype(np.float16 if dtype == "fp16" else np.float32), np.dtype(np.float32)
    one, other = (np.full((size, size), 0.5 / size, dtype=kind) for _ in range(2))

    def product() -> None:
        # numpy has no fast product of half-precision matrices
        np.matmul(one.astype(single, copy=False), other.astype(single, copy=False)).astype(kind, copy=False)

    product()  # threads and buffers are there
    done, end = 0, time.perf_counter() + seconds
    with test.use() as watch:
        while done == 0 or time.perf_counter() < end:
            product()
            done += 1
    return float(2.0 * size**3 * done / watch.seconds)
