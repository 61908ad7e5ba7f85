"""Checkpoints: written whole, read without running anything, the newest few and the best one kept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from tremula.atomic_files import atomic_path

FORMAT = 1
BEST = "best.pt"
_NAME = re.compile(r"step-(\d{8})\.pt")
_ENTRIES = {
    "format": int,
    "network": dict,
    "optimizer": dict,
    "random": list,
    "epoch": int,
    "done": int,
    "step": int,
    "best": float,
    "history": list,
    "variant": dict,
}


class BadCheckpoint(ValueError):
    """A checkpoint cannot be used; the text says which and why."""


def numbered(folder: Path) -> list[Path]:
    """Checkpoints of a folder, oldest first."""
    return sorted(path for path in folder.glob("step-*.pt") if _NAME.fullmatch(path.name))


def save(folder: Path, state: dict[str, Any], *, keep: int, best: bool) -> Path:
    """Write a checkpoint, and forget those that are too old.

    Args:
        folder: where checkpoints lie.
        state: what to keep; see `load`.
        keep: how many to keep besides the best one.
        best: also keep it as the best one.
    """
    state = {"format": FORMAT, **state}
    path = folder / f"step-{state['step']:08d}.pt"
    for place in (path, folder / BEST) if best else (path,):
        with atomic_path(place) as draft:
            torch.save(state, draft)
    for old in numbered(folder)[: -max(1, keep)]:
        old.unlink(missing_ok=True)
    return path


def load(path: Path) -> dict[str, Any]:
    """Read a checkpoint.

    Returns:
        network and optimizer (their states), random (the device's generators), epoch and done (where to go on), step
        (updates so far), best (lowest validation error), history (one row for each validation), variant.

    Raises:
        BadCheckpoint: it is missing, damaged or of another kind.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise BadCheckpoint(f"{path}: no such checkpoint.") from None
    except Exception as problem:  # torch raises many kinds for files that are damaged or not its own
        raise BadCheckpoint(
            f"{path} cannot be read as a checkpoint ({type(problem).__name__}): it is damaged or not one of CosmoFlow. "
            "Remove it to continue from the previous one."
        ) from problem
    if not isinstance(state, dict):
        raise BadCheckpoint(f"{path} is not a checkpoint of CosmoFlow.")
    for name, kind in _ENTRIES.items():
        if not isinstance(state.get(name), kind):
            raise BadCheckpoint(
                f"{path} is not a checkpoint of CosmoFlow: its entry '{name}' is missing or no {kind.__name__}."
            )
    if state["format"] != FORMAT:
        raise BadCheckpoint(f"{path} has format {state['format']}; this version reads format {FORMAT}.")
    return state
