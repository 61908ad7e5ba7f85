"""A profile full of hostile names."""

from __future__ import annotations

import importlib.util
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


@pytest.fixture(scope="session")
def executed_file(profile_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile with a recorded run of two IPUs that is made up; see tests/execution_profile.py."""
    path = tmp_path_factory.mktemp("executed") / "training" / "profile.pop"
    path.parent.mkdir()
    return beside("execution_profile").write(profile_file, path)


@pytest.fixture(scope="session")
def hostile_run(
    profile_file: Path, hostile_texts: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The same with hostile names of compute sets and programs."""
    path = tmp_path_factory.mktemp("executed") / "<img src=x>" / "profile.pop"
    path.parent.mkdir()
    return beside("execution_profile").write(profile_file, path, supersteps=12, names=hostile_texts)


@pytest.fixture
def hand(browser: Any) -> Any:
    """Real pointer and key events on a timeline; see tests/timeline_hand.py."""
    return beside("timeline_hand").Hand(browser)


def beside(name: str) -> Any:
    """A module in the folder of tests, which is no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
