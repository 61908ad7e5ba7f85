"""A program that is too large with the plans that it asks for, and what smaller plans make of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.estimate.estimate import Estimate, estimate
from tremula.hardware.catalogue import system
from tremula.program.loops import Loops
from tremula.program.work import PLANNED
from tremula.schedule.deployment import Deployment
from tremula.study.result import result_of

_POD = system("pod4")


def found(layered: Callable[..., Any], share: float, **shape: int) -> Estimate:
    chip = _POD.chip
    small = _POD.with_chip(replace(chip, tile_memory_bytes=int(share * chip.tile_memory_bytes)))
    program = layered(2, rows=2048, width=1024, loops=Loops(gradient_accumulation=2), **shape)
    return estimate(program, Deployment(), small)


@pytest.fixture(scope="module")
def roomy(layered: Callable[..., Any]) -> Estimate:
    return found(layered, 1.0)


@pytest.fixture(scope="module")
def tight(layered: Callable[..., Any]) -> Estimate:
    """A tile that has room for the program, but not for the plans that its proportion allows."""
    for percent in range(60, 10, -2):
        tried = found(layered, percent / 100)
        if not tried.memory.fits:
            return tried
    raise ValueError("it fits in any memory")


def test_a_program_with_room_keeps_its_plans(roomy: Estimate) -> None:
    assert roomy.pressure is None


def test_smaller_plans_make_it_fit_and_slower(roomy: Estimate, tight: Estimate) -> None:
    assert tight.pressure is not None
    assert tight.pressure.fits
    assert (
        tight.memory.max_tile_bytes > tight.memory.tile_memory_bytes >= tight.pressure.memory.max_tile_bytes
    )
    assert tight.device_cycles_per_step >= roomy.device_cycles_per_step


def test_it_says_what_to_set(tight: Estimate) -> None:
    assert tight.pressure is not None
    share = tight.pressure.proportions[0]
    assert 0 < share < 0.6
    assert f"availableMemoryProportion lowered to {share:.2f} on IPU 0" in tight.summary()
    assert "planned within the memory that is left" in str(tight.explain("memory"))


def test_tables_say_that_times_are_of_smaller_plans(roomy: Estimate, tight: Estimate) -> None:
    assert not result_of(roomy).notes
    (note,) = result_of(tight).notes
    assert note.startswith("It does not fit as configured: with availableMemoryProportion lowered to")
    assert note.endswith("times are of these plans.")


def test_setting_it_gives_the_same_figures(tight: Estimate) -> None:
    """The advice holds: with that proportion for all products the program fits as it is configured."""
    assert tight.pressure is not None
    share = tight.pressure.proportions[0]
    program = tight.pressure.program
    ops = [
        replace(
            op,
            works=tuple(replace(w, proportion=share) if isinstance(w, PLANNED) else w for w in op.works),
        )
        for op in program.ops
    ]
    again = estimate(replace(program, ops=ops, _by_phase=None), tight.deployment, tight.system)
    assert again.memory.max_tile_bytes <= again.memory.tile_memory_bytes
    assert again.pressure is None


def test_weights_alone_can_be_too_much(layered: Callable[..., Any]) -> None:
    lost = found(layered, 0.03)
    assert not lost.memory.fits
    assert lost.pressure is None or not lost.pressure.fits
    if lost.pressure is not None:
        assert "not enough" in lost.pressure.in_words()


@settings(max_examples=6, deadline=None)
@given(share=st.floats(0.2, 1.0))
def test_less_memory_is_never_faster(layered: Callable[..., Any], share: float) -> None:
    less, more = found(layered, share), found(layered, 1.0)
    if less.pressure is None or less.pressure.fits:
        assert less.device_cycles_per_step >= more.device_cycles_per_step * (1 - 1e-9)
