"""Profiles with matching digests and values that make no sense: viewers show them or refuse them, and nothing else."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from tremula.errors import Error
from tremula.profile import Profile
from tremula.view.notebook import profile_html
from tremula.view.op_text import op_text, ops_text, tile_text
from tremula.view.page import page_html
from tremula.view.perfetto import write_trace
from tremula.view.summary import brief, summary

_INTEGERS = (-1, 0, 1, 2, 5, 1_472, 65_536, 2**31, 2**53)
_FLOATS = (-1e30, -1.0, 0.0, 1e-30, 1.0, 1e9, 1e30)


def _trace(profile: Profile) -> None:
    file = io.StringIO()
    write_trace(profile, file)
    json.loads(file.getvalue())


_VIEWERS: tuple[Callable[[Profile], Any], ...] = (
    lambda profile: str(summary(profile, full=True)),
    brief,
    page_html,
    profile_html,
    _trace,
    lambda profile: ops_text(profile, 5),
    lambda profile: tile_text(profile, 1),
    lambda profile: op_text(profile, profile.ops[0].name),
)


@pytest.mark.parametrize("seed", range(24))
def test_viewers_show_or_refuse(
    profile_file: Path, tmp_path: Path, rewrite_profile: Callable[..., Path], seed: int
) -> None:
    chance = random.Random(seed)
    share = chance.choice((0.002, 0.02, 0.3))

    def change(row: Any) -> Any:
        if chance.random() > share:
            return row
        field = chance.choice(fields(row))
        value = getattr(row, field.name)
        if isinstance(value, int):
            return replace(row, **{field.name: chance.choice(_INTEGERS)})
        if isinstance(value, float):
            return replace(row, **{field.name: chance.choice(_FLOATS)})
        if isinstance(value, bytes):
            return replace(row, **{field.name: value[: chance.randrange(len(value) + 1)]})
        return replace(
            row, **{field.name: chance.choice(("", "{}", "[]", '{"plan": 1}', "\x1b[2J", "x" * 5_000))}
        )

    path = rewrite_profile(profile_file, tmp_path / "profile.pop", change)
    for viewer in _VIEWERS:
        try:
            with Profile(path) as profile:
                viewer(profile)
        except Error:
            continue
