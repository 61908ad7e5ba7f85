"""Copies of a tensor's shape and tiles, in its own element type or another."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.timeout(600)  # the libraries are compiled before


def test_clones_have_the_type_that_was_asked_for_and_the_tiles_of_the_original(kit: Any) -> None:
    done = kit.run(kit.program("clones"))
    assert (done.stdout, done.returncode) == ("unsigned int 3 3 1 float\n", 0), done.stderr
