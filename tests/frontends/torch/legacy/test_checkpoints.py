"""What old checkpoints hold besides weights, and that nothing else is read."""

from __future__ import annotations

import argparse
import io
import os
import pathlib
import pickle
import random
from typing import Any

import numpy as np
import pytest
import torch

from tremula.frontends.torch.legacy import checkpoints

#: as trainers save them
CHECKPOINT: dict[str, Any] = {
    "random": {"python": random.getstate(), "numpy": np.random.RandomState(3).get_state()},
    "best": np.float64(0.75),
    "half": np.arange(3, dtype=np.float16),
    "opts": argparse.Namespace(epochs=3, path=pathlib.PurePosixPath("/data")),
    "classes": {1, 2},
    "words": np.array(["a", "bc"]),
    "weights": torch.arange(3.0),
}


def loaded(value: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return torch.load(buffer)


def test_states_arrays_and_arguments_are_read() -> None:
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        loaded(CHECKPOINT)
    with torch.serialization.safe_globals(checkpoints.common_types()):
        found = loaded(CHECKPOINT)
    assert found["opts"] == CHECKPOINT["opts"]
    assert (found["best"], found["classes"]) == (0.75, {1, 2})
    assert found["random"]["numpy"][1].tolist() == CHECKPOINT["random"]["numpy"][1].tolist()
    assert found["half"].dtype == np.float16
    assert found["words"].tolist() == ["a", "bc"]
    assert torch.equal(found["weights"], CHECKPOINT["weights"])


class Harmful:
    """Would execute a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("true",)


@pytest.mark.parametrize("value", [Harmful(), torch.nn.Linear(1, 1), np.array([Harmful()], dtype=object)])
def test_anything_else_is_refused(value: Any) -> None:
    with (
        torch.serialization.safe_globals(checkpoints.common_types()),
        pytest.raises(pickle.UnpicklingError, match=r"was not an allowed global|is blocked"),
    ):
        loaded(value)
