"""Writers to kill: what each writes again and again, and how a reader knows a whole version from a mixture."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import poptorch
from fuzz.targets.exports import _INPUT, Network
from tremula.atomic_files import write_text_atomically
from tremula.cache.store import MISS, Store
from tremula.frontends.poplar.execute.stored.files import Stored, read_executable, write_executable
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.frontends.poplar.types import FLOAT
from tremula.profile import model
from tremula.profile.reader import Profile
from tremula.profile.writer import ProfileWriter
from tremula.program.file import load_program, save_program
from tremula.scale import document
from tremula.scale.row import ScalingStudy

_KEY = "cd" * 32
_LINES = 50_000
_BLOB_BYTES = 400_000


@dataclass(frozen=True)
class Writer:
    """A kind of file that is written over and over.

    Attributes:
        name: of the kind.
        write: writes a version into a folder.
        read: the version in the folder, None if there is no file; an AssertionError if it is not whole.
    """

    name: str
    write: Callable[[Path, int], object]
    read: Callable[[Path], int | None]


def writers(program: Path) -> list[Writer]:
    """All of them. `program` is a saved program."""
    return [
        Writer("texts", _write_text, _read_text),
        Writer("cache entries", _put, _get),
        Writer("profiles", _write_profile, _read_profile),
        Writer("studies", _save_study, _read_study),
        _programs(program),
        Writer("executables", _write_executable, _read_executable),
        _exports(),
    ]


def _write_text(folder: Path, version: int) -> None:
    write_text_atomically(folder / "result", f"{version}\n" * _LINES)


def _read_text(folder: Path) -> int | None:
    with contextlib.suppress(FileNotFoundError):
        lines = (folder / "result").read_text().splitlines()
        return _one_version(lines, _LINES)
    return None


def _put(folder: Path, version: int) -> None:
    kept = _store(folder).put(_KEY, {"version": version}, {"code": bytes([version % 256]) * _BLOB_BYTES})
    assert kept, "the entry was not kept"


def _get(folder: Path) -> int | None:
    store = _store(folder)
    found = store.get(_KEY)
    assert len(list(store.entries())) <= 1, "a draft is taken for an entry"
    assert [problem for _, problem in store.verify() if problem] == []
    if found.entry is None:
        assert found.reason == MISS, found.reason
        return None
    version = int(found.entry.metadata["version"])
    assert found.entry.blobs["code"] == bytes([version % 256]) * _BLOB_BYTES
    return version


def _store(folder: Path) -> Store:
    folder.chmod(0o700)
    return Store(folder)


def _write_profile(folder: Path, version: int) -> None:
    with ProfileWriter(folder / "result") as writer:
        writer.extend(model.Part(str(number), float(version)) for number in range(100))


def _read_profile(folder: Path) -> int | None:
    if not (folder / "result").exists():
        return None
    with Profile(folder / "result") as profile:
        return _one_version(list(profile.breakdown.values()), 100)


def _save_study(folder: Path, version: int) -> None:
    about = {"name": "kills", "training": True, "parameters": version, "command": "", "date": "2026-01-01"}
    study = ScalingStudy(
        **about,  # type: ignore[arg-type]
        tremula="0",
        model_version="0",
        question={},
        rows=(),
        assumptions=(str(version),) * 5000,
    )
    document.save(study, folder / "result")


def _read_study(folder: Path) -> int | None:
    if not (folder / "result").exists():
        return None
    study = document.read(folder / "result")
    return _one_version([study.parameters, *study.assumptions], 5001)


def _programs(path: Path) -> Writer:
    program, _ = load_program(path)

    def write(folder: Path, version: int) -> None:
        save_program(program, folder / "result", {"version": version})

    def read(folder: Path) -> int | None:
        if not (folder / "result").exists():
            return None
        found, about = load_program(folder / "result")
        assert len(found.ops) == len(program.ops)
        return int(about["version"])

    return Writer("programs", write, read)


def _write_executable(folder: Path, version: int) -> None:
    graph = Graph(TargetFacts(TargetKind.IPU_MODEL, tiles_per_ipu=4))
    values = graph.add_variable(FLOAT, (20_000,))
    graph.set_tile_mapping(values, 0)
    graph.set_initial_value(values, version)
    write_executable(Stored(graph, [], name=str(version)), folder / "result")


def _read_executable(folder: Path) -> int | None:
    if not (folder / "result").exists():
        return None
    found = read_executable(folder / "result")
    ((_, values),) = found.graph.memory.variables[0].initial
    return _one_version([found.name, *values.tolist()], 20_001)


def _exports() -> Writer:
    network = Network().eval()
    options = poptorch.Options().showCompilationProgressBar(False).useIpuModel(True)
    compiled = poptorch.inferenceModel(network, options)
    compiled.compile(_INPUT)

    def write(folder: Path, version: int) -> None:
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.fill_(version)
        compiled.save(str(folder / "result"))

    def read(folder: Path) -> int | None:
        if not (folder / "result").exists():
            return None
        loaded = poptorch.load(str(folder / "result"))
        values = torch.cat([parameter.detach().flatten() for parameter in loaded.model.parameters()])
        return _one_version(values.unique().tolist())

    return Writer("exports", write, read)


def _one_version(values: list[Any], count: int | None = None) -> int:
    versions = {int(float(value)) for value in values}
    assert len(versions) == 1, f"a mixture of versions: {sorted(versions)[:5]}"
    assert count in (None, len(values)), f"{len(values)} values in place of {count}"
    return versions.pop()
