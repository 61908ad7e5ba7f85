"""What the tests of CosmicTagger share: a small file of generated events."""

from __future__ import annotations

from pathlib import Path

import pytest

#: Wires and ticks of the small planes.
SMALL = (256, 160)


@pytest.fixture(scope="session")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten generated events with planes of 256 wires x 160 ticks. Not to be changed."""
    from cosmictagger.data import generate

    return generate(tmp_path_factory.mktemp("events") / "small.h5", 10, 3, shape=SMALL, progress=False)
