"""Sums and conversions that published profiles contain, recomputed from the chips' files and the memory model.

Sources: profiles in the Poplar tutorials (tutorial 6 for Mk2, its older number 7 for Mk1) and a profile summary of a
TensorFlow program on Mk1.
"""

from __future__ import annotations

import pytest

from tremula.hardware.catalogue import chip
from tremula.memory.categories import STACK_BYTES_PER_TILE


@pytest.mark.parametrize(("name", "mebibytes"), [("mk1", 304), ("mk2", 897), ("bow", 897), ("c600", 897)])
def test_total_memory(name: str, mebibytes: int) -> None:
    assert chip(name).memory_bytes == mebibytes * 2**20


@pytest.mark.parametrize(
    ("name", "cycles", "microseconds"), [("mk2", 6_681_766, 5_023.9), ("mk1", 8_190_756, 5_119.2)]
)
def test_cycles_and_time_of_whole_programs(name: str, cycles: int, microseconds: float) -> None:
    assert cycles / chip(name).clock_hz * 1e6 == pytest.approx(microseconds, abs=0.05)


def test_stacks_of_all_tiles() -> None:
    assert STACK_BYTES_PER_TILE * chip("mk1").tiles == 3_852_288


@pytest.mark.parametrize(
    ("name", "half_teraflops"), [("mk1", 124.5), ("mk2", 250.6), ("bow", 348.6), ("c600", 282.6)]
)
def test_peak_of_the_matrix_engine(name: str, half_teraflops: float) -> None:
    assert chip(name).peak_flops("fp16", "fp16") / 1e12 == pytest.approx(half_teraflops, abs=0.05)
