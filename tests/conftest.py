"""What every test gets: one thread, a fixed seed and a state folder of its own."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Before torch is imported: with several threads, OpenMP's spinning barriers slow small tests down manyfold.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Tests wrap models without running them; the end of the test run is no place to remark on it.
os.environ["TREMULA_SUMMARY"] = "0"

import hypothesis
import pytest
import torch

# A loaded machine is not a failed property.
hypothesis.settings.register_profile("tremula", deadline=None, max_examples=50)
hypothesis.settings.load_profile("tremula")


@pytest.fixture(autouse=True, scope="session")
def state_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the user's own run ledger and cache out of the tests, and theirs out of them."""
    path = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREMULA_STATE_DIR", str(path))
        patch.setenv("TREMULA_CACHE_DIR", str(path / "executables"))
        yield path


@pytest.fixture(autouse=True)
def seed() -> None:
    """Each test starts from the same random state, alone or in company."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def layered() -> Callable[..., Any]:
    """Builds a stack of linear layers as a flat program, without a capture; see tests/flat_programs.py."""
    path = Path(__file__).parent / "flat_programs.py"
    spec = importlib.util.spec_from_file_location("flat_programs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    builder: Callable[..., Any] = module.layered
    return builder
