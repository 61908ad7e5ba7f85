"""Compiled code in this process: shared objects whose signature was found good (`tremula.cache`) are written into a
private folder, loaded, and removed, so that nobody can exchange them in between.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from tremula import private_files
from tremula.cache import trust

_OUT_OF_BOUNDS = re.compile(r"index out of bounds: 0 <= \w+ < (\d+)")
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
    private_files.make_code_directory(work)
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
    return CompiledCode(_called(loaded["turn"].run), None if update is None else _called(update.run))


def _called(run: Compiled) -> Compiled:
    """`run`, with the error of the quick form for an index out of range."""

    def call(arguments: list[torch.Tensor]) -> list[torch.Tensor]:
        try:
            return run(arguments)
        except RuntimeError as problem:
            found = _OUT_OF_BOUNDS.search(str(problem))
            if found is None:
                raise
            raise IndexError(
                f"index out of bounds: the model selects with an index that is not below {found[1]}, the size of what "
                "it selects from. Set TREMULA_EXECUTION=quick to see which index it is."
            ) from None

    return call
