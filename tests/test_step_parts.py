"""The parts of a step: each that the schedule has is named once, in a colour of its own."""

from __future__ import annotations

from dataclasses import fields

from tremula.schedule.bsp import Cycles
from tremula.step_parts import BY_KEY, STEP_PARTS


def test_every_part_of_the_schedule_has_a_name_and_a_colour() -> None:
    assert {part.key for part in STEP_PARTS} == {each.name for each in fields(Cycles)}
    assert (
        len({part.colour for part in BY_KEY.values()})
        == len({part.title for part in BY_KEY.values()})
        == len(BY_KEY)
    )
