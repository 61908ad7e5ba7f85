"""Nested results are compared by structure and by numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from poptorch.testing import allclose

A = torch.tensor([1.0, 2.0])
NEAR = A + 1e-9
FAR = A + 1.0


@pytest.mark.parametrize(
    ("ref", "other", "expected"),
    [
        (A, NEAR, True),
        (A, FAR, False),
        (A, A[:1], False),
        (torch.ones(1), torch.ones(3), False),
        (A, [A], False),
        ((A, [A, {"x": A}]), (NEAR, [A, {"x": NEAR}]), True),
        ((A, [A, {"x": A}]), (NEAR, [A, {"x": FAR}]), False),
        ((A, A), [A, A], False),
        ([A], [A, A], False),
        ({"x": A}, {"y": A}, False),
    ],
)
def test_structure_and_numbers_count(ref: Any, other: Any, expected: bool) -> None:
    assert allclose(ref, other) is expected


def test_other_objects_cannot_be_compared() -> None:
    with pytest.raises(TypeError, match="cannot compare a str"):
        allclose(["a"], ["a"])
