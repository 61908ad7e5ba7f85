"""Files made by popc: read, and their texts written to a folder, as before they are compiled."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from fuzz.mutations import change_json, change_zip, flip_bytes
from fuzz.target import Target
from tremula.frontends.poplar.codelets.cpp import archive
from tremula.frontends.poplar.codelets.cpp.sources import Sources
from tremula.frontends.poplar.errors import GraphObjectLoadError


def make(folder: Path) -> list[Path]:
    """Two files, one with several sources in folders."""
    plain, larger = folder / "plain.gp", folder / "larger.gp"
    archive.write(plain, Sources((), ("-O3",), ("a.cpp",), {"a.cpp": "class A {};\n"}))
    texts = {f"src/part{number}.cpp": '#include "../shared/x.h"\n' for number in range(3)}
    archive.write(
        larger, Sources((), ("-I@/shared", "-DN=4"), tuple(texts), {**texts, "shared/x.h": "#pragma once\n"})
    )
    return [plain, larger]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """The description changed as data, texts as bytes."""
    return change_zip(data, rng, {".json": change_json, ".npy": flip_bytes})


def read(path: Path) -> object:
    """All files end up below the folder that they are written to."""
    with tempfile.TemporaryDirectory() as outside:
        folder = Path(outside) / "inside"
        folder.mkdir()
        written = archive.read(path).write(folder)
        if [each.name for each in Path(outside).iterdir()] != ["inside"]:
            raise AssertionError("a file was written outside of its folder")
        return written


def refusals() -> tuple[type[BaseException], ...]:
    """What is wrong with a file is one kind of error."""
    return (GraphObjectLoadError,)


CODELETS = Target("codelets", make, mutate, read, refusals, names_file=False)
