"""What the tests of codelets share."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def batches() -> ModuleType:
    """Builders of batches; see batches.py."""
    path = Path(__file__).with_name("batches.py")
    spec = importlib.util.spec_from_file_location("poplar_codelet_batches", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
