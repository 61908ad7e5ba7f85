"""Programs as flat lists, for tests that need no capture."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def layered() -> Callable[..., Any]:
    """Builds a stack of linear layers; see tests/flat_programs.py."""
    path = Path(__file__).parents[1] / "flat_programs.py"
    spec = importlib.util.spec_from_file_location("flat_programs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.layered
