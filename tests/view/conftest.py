"""A profile full of hostile names."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def hostile_file(
    profile_file: Path,
    rewrite_profile: Callable[..., Path],
    hostile_texts: tuple[str, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A profile in which every text is hostile, except those that viewers look up."""
    from tremula.profile import model

    kept = {(model.Figure, "name"), (model.Op, "phase"), (model.Superstep, "name")}
    seen: Counter[tuple[type, str]] = Counter()

    def change(row: Any) -> Any:
        changed = {}
        for field in fields(row):
            value = getattr(row, field.name)
            seen[type(row), field.name] += 1  # every column gets every text
            text = hostile_texts[seen[type(row), field.name] % len(hostile_texts)]
            if field.name == "code":
                changed["code"] = json.dumps([text])
            elif isinstance(value, str) and (type(row), field.name) not in kept and field.name != "why":
                changed[field.name] = text
            elif field.name == "why":
                changed["why"] = json.dumps({"plan": text, "formula": text, "figures": {text: 1.0}})
        return replace(row, **changed)

    return rewrite_profile(profile_file, tmp_path_factory.mktemp("hostile") / "profile.pop", change)
