"""Compiled code in this process: shared objects whose signature was found good (`tremula.cache`) are written into a
private folder, loaded, and removed, so that nobody can exchange them in between.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from tremula.cache import trust

#: takes the arguments of a graph, writes in place, returns its results
Compiled = Callable[[list[torch.Tensor]], list[torch.Tensor]]


class CompiledCode:
    """The compiled form of a whole step: `turn`, and `update` where it is a graph of its own."""

    def __init__(self, turn: Compiled, update: Compiled | None) -> None:
        self.turn = turn
        self.update = update


def load(blobs: Mapping[str, bytes]) -> CompiledCode:
    """Load what a compilation left."""
    work = trust.private_directory() / "work"
    trust.make_directory(work)
    folder = Path(tempfile.mkdtemp(prefix="load-", dir=work))
    try:
        for name, data in blobs.items():
            (folder / Path(name).name).write_bytes(data)
        loaded = {
            name.removesuffix(".so"): torch._C._aoti.AOTIModelContainerRunnerCpu(str(folder / name), 1)
            for name in blobs
            if name.endswith(".so")
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if "turn" not in loaded:
        raise RuntimeError("there is no code for the step in it")
    update = loaded.get("update")
    return CompiledCode(loaded["turn"].run, None if update is None else update.run)
