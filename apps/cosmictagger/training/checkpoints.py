"""Checkpoints: tensors and JSON in one safetensors file, written whole, newest and best kept.

A file holds the network (`network.`), the optimizer (`optimizer.`), torch's random state (`random.`) and a description
of where the run was. Reading one executes nothing. A file that cannot be read is passed over for the one before.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from tremula.atomic_files import atomic_path, write_text_atomically

FORMAT = "cosmictagger-checkpoint-1"
BEST = "best.safetensors"
LATEST = "checkpoint"
_NAME = re.compile(r"model-(\d{1,15})\.safetensors")


class BadCheckpoint(ValueError):
    """A checkpoint that cannot be used; the message says why."""


@dataclass
class Position:
    """Where a run was.

    Attributes:
        step: weight updates so far.
        epoch: which pass over the events.
        done: events of that pass that are over, of all processes together.
        seen: events so far, of all processes together.
        best: the best validation so far, and its step.
        replicas: replicas of the run that wrote this.
        random_words: the device's random state.
    """

    step: int = 0
    epoch: int = 0
    done: int = 0
    seen: int = 0
    best: float | None = None
    best_step: int | None = None
    replicas: int = 1
    random_words: list[int] = field(default_factory=list)


@dataclass
class Checkpoint:
    """What a file holds."""

    position: Position
    network: dict[str, torch.Tensor]
    optimizer: dict[str, torch.Tensor]
    random: dict[str, torch.Tensor]
    shape: dict[str, Any]
    optimizer_name: str
    precision: str
    compute_mode: str


class Checkpoints:
    """The checkpoints of a run.

    Args:
        folder: where they are.
        keep: how many of the newest stay.
    """

    def __init__(self, folder: Path, keep: int = 5) -> None:
        self.folder = folder
        self.keep = keep

    def path(self, step: int) -> Path:
        """The file of a step."""
        return self.folder / f"model-{step}.safetensors"

    def steps(self) -> list[int]:
        """Steps of which there is a file, in ascending order."""
        if not self.folder.is_dir():
            return []
        found = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(each.group(1)) for each in found if each)

    def save(self, checkpoint: Checkpoint, best: bool = False) -> Path:
        """Write a checkpoint, then remove those that are too many. `best` writes the one that is kept apart."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for draft in self.folder.glob(".*.part"):  # of a run that was killed
            with contextlib.suppress(OSError):
                draft.unlink()
        path = self.folder / BEST if best else self.path(checkpoint.position.step)
        write(path, checkpoint)
        if not best:
            write_text_atomically(self.folder / LATEST, f"latest: {path.name}\n")
            for step in self.steps()[: -self.keep]:
                with contextlib.suppress(OSError):
                    self.path(step).unlink()
        return path

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint that can be read, and what is wrong with newer ones."""
        problems: list[str] = []
        for step in reversed(self.steps()):
            try:
                return read(self.path(step)), problems
            except BadCheckpoint as error:
                problems.append(str(error))
        return None, problems

    def for_inference(self) -> Path | None:
        """The best, else the newest."""
        if (self.folder / BEST).is_file():
            return self.folder / BEST
        steps = self.steps()
        return self.path(steps[-1]) if steps else None


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write a file whole: beside its place, flushed, renamed."""
    tensors = {
        f"{part}.{name}": value.detach().cpu().contiguous().clone()
        for part in ("network", "optimizer", "random")
        for name, value in getattr(checkpoint, part).items()
    }
    about = {
        "position": asdict(checkpoint.position),
        "shape": checkpoint.shape,
        "optimizer_name": checkpoint.optimizer_name,
        "precision": checkpoint.precision,
        "compute_mode": checkpoint.compute_mode,
    }
    with atomic_path(path) as draft:
        save_file(tensors, draft, metadata={"format": FORMAT, "about": json.dumps(about)})


def read(path: Path) -> Checkpoint:
    """Read a file.

    Raises:
        BadCheckpoint: it is broken, or something else.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise BadCheckpoint(f"{path} is not a checkpoint of this program.")
            about = json.loads(metadata["about"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except BadCheckpoint:
        raise
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise BadCheckpoint(f"{path} cannot be read: {' '.join(str(error).split())[:200]}") from None
    try:
        position = _position(about["position"])
        texts = {name: str(about[name])[:100] for name in ("optimizer_name", "precision", "compute_mode")}
        shape = about["shape"]
        if not isinstance(shape, dict):
            raise TypeError
    except (KeyError, TypeError, ValueError):
        raise BadCheckpoint(f"{path} does not say where its run was.") from None
    parts: dict[str, dict[str, torch.Tensor]] = {"network": {}, "optimizer": {}, "random": {}}
    for name, value in tensors.items():
        part, _, rest = name.partition(".")
        if part in parts:
            parts[part][rest] = value
    return Checkpoint(position, shape=shape, **parts, **texts)


def _position(values: Mapping[str, Any]) -> Position:
    names = {each.name for each in fields(Position)}
    found = Position(**{name: value for name, value in values.items() if name in names})
    for name in ("step", "epoch", "done", "seen", "replicas"):
        number = getattr(found, name)
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ValueError(name)
    if found.best is not None:
        found.best = float(found.best)
    found.random_words = [int(each) for each in found.random_words]
    return found


def difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str | None:
    """The first key of a network in which two configurations differ, with both values."""
    for name in ours:
        if name != "name" and name in theirs and ours[name] != theirs[name]:
            return f"network.{name} is {theirs[name]} there and {ours[name]} here"
    return None
