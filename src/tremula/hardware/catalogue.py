"""Chips, machines and systems by name: the files that come with the package, and the user's own.

A name is looked up in the package, then in the folders of TREMULA_HARDWARE_PATH and in `hardware` in the
user's configuration folder; a text that ends in .toml or has a slash in it is the path of a file.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tremula.errors import Error
from tremula.hardware.chip import Chip
from tremula.hardware.files import KINDS, Entry, parse
from tremula.hardware.machine import Machine
from tremula.hardware.system import System
from tremula.settings import env

#: what programs and POPTORCH_IPU_MODEL_VERSION call the chips; Bow has the instruction set of Mk2
_CHIP_OF_VERSION = {"ipu1": "mk1", "ipu2": "mk2", "ipu21": "c600"}
_DATA = Path(__file__).parent / "data"
#: files nested deeper than this are taken for a circle
_DEEPEST_BASE = 8


def chip(name: str) -> Chip:
    """The chip called `name`, or described by the file at that path.

    Raises Error if there is none, or its file is wrong.
    """
    found = Chip(**_values("chip", name))
    if found.interleaved_memory_bytes > found.tile_memory_bytes:
        raise Error(
            f"The chip {name}: interleaved_memory_bytes is {found.interleaved_memory_bytes}, more than the "
            f"{found.tile_memory_bytes} of tile_memory_bytes that it is a part of; give both in its file."
        )
    return found


def machine(name: str) -> Machine:
    """The machine called `name`, or described by the file at that path."""
    values = _values("machine", name)
    return Machine(**values | {"chip": chip(values["chip"])})


def system(name: str) -> System:
    """The system called `name`, or described by the file at that path."""
    values = _values("system", name)
    return System(**values | {"machine": machine(values["machine"])})


def chip_of_version(version: str) -> Chip:
    """The chip for an architecture as programs name it: ipu1, ipu2 (Mk2; Bow too) or ipu21 (C600)."""
    if version not in _CHIP_OF_VERSION:
        raise Error(f"There is no IPU version {version!r}; known: {', '.join(_CHIP_OF_VERSION)}.")
    return chip(_CHIP_OF_VERSION[version])


def names(kind: str | None = None) -> tuple[str, ...]:
    """All names, or those of one kind: chip, machine or system."""
    kinds = (kind,) if kind else tuple(KINDS)
    found: dict[str, None] = {}
    for each in kinds:
        found |= dict.fromkeys(_bundled_names(each))
        for folder in folders():
            found |= dict.fromkeys(path.stem for path in _files(folder, each))
    return tuple(found)


def sources(name: str, kind: str | None = None) -> Mapping[str, str]:
    """Where each number of `name` comes from, by field. Of equal names: the chip, the machine, the system."""
    kinds = (kind,) if kind else tuple(each for each in KINDS if _is_path(name) or name in names(each))
    for each in kinds:
        entry = _find(each, name, any_kind=True)
        if entry.kind == each:
            chain = _chain(entry)
            return MappingProxyType(
                {field: text for link in reversed(chain) for field, text in link.sources.items()}
            )
    raise _unknown(kind or "chip, machine or system", name, names())


@functools.lru_cache(maxsize=64)
def host_rates(of: Machine) -> str:
    """What the rates between host and IPU rest on: `published: source`, or `nominal: source` if only the link is known.

    Programs do not reach nominal rates, so speeds that rest on one of each cannot be compared.
    """
    known = of.host_to_ipu_bytes_per_second is not None and of.ipu_to_host_bytes_per_second is not None
    kind, field = ("published", "ipu_to_host") if known else ("nominal", "host_link")
    try:
        source = sources(of.name, "machine")[f"{field}_bytes_per_second"].partition(";")[0]
    except (Error, KeyError):  # a file of the user's that is known by its path
        source = f"the file of {of.name}"
    return f"{kind}: {source}"


def target(name: str, ipus: int = 1) -> System:
    """The system that `name` stands for: a system, or the smallest with `ipus` IPUs of the chip so called.

    Raises Error if there is nothing of that name, or the system has fewer IPUs.
    """
    if _is_path(name):
        kind = _find("system", name, any_kind=True).kind
    else:
        # names of the package first: they need no look into folders
        known = (
            each
            for each in ("system", "chip", "machine")
            if name in _bundled_names(each) or name in names(each)
        )
        kind = next(known, "")
    if kind == "chip":
        return smallest_system(chip(name), ipus)
    if kind == "machine":
        return _smallest((each for each in _systems() if each.machine.name == name), ipus, name)
    if not kind:
        raise _unknown("system or chip", name, (*names("system"), *names("chip")))
    found = system(name)
    if found.ipus < ipus:
        larger = [each.name for each in _systems() if each.chip == found.chip and each.ipus >= ipus]
        advice = f"use {larger[0]}" if larger else "use fewer replicas or stages"
        raise Error(f"The program takes {ipus} IPUs, and {name} has {found.ipus}; {advice}.")
    return found


def smallest_system(of: Chip, ipus: int = 1) -> System:
    """The smallest system with `ipus` IPUs of a chip; one of your own sits where the chip it is based on would."""
    fitting = [each for each in _systems() if each.chip.name in (of.name, of.based_on)]
    if not fitting:  # a chip that is based on nothing: it sits where others of its instruction set do
        fitting = [each for each in _systems() if each.chip.architecture == of.architecture]
    return _smallest(iter(fitting), ipus, of.name).with_chip(of)


def _smallest(candidates: Iterator[System], ipus: int, name: str) -> System:
    by_size = list(candidates)
    if not by_size:
        raise Error(f"No known system has {name} in it; write a system file for it (docs/hardware.md).")
    for each in by_size:
        if each.ipus >= ipus:
            return each
    largest = by_size[-1]
    return largest.with_machines(-(-ipus // largest.machine.ipus))


@functools.cache
def _systems() -> tuple[System, ...]:
    """The systems of the package, small ones first."""
    return tuple(sorted(map(system, _bundled_names("system")), key=lambda each: each.ipus))


def folders() -> tuple[Path, ...]:
    """Where the user's own files are looked for."""
    import platformdirs

    listed = [Path(part) for part in str(env.get("TREMULA_HARDWARE_PATH")).split(os.pathsep) if part]
    return (*listed, Path(platformdirs.user_config_dir("tremula", appauthor=False)) / "hardware")


def _values(kind: str, name: str) -> dict[str, Any]:
    """All fields of `name`, those of its bases included."""
    entry = _find(kind, name)
    chain = _chain(entry)
    values: dict[str, Any] = {}
    for link in reversed(chain):
        values |= link.values
    values["based_on"] = chain[-1].name if len(chain) > 1 else ""
    return values


def _chain(entry: Entry) -> list[Entry]:
    """The file, the one it is based on, and so on."""
    chain = [entry]
    while chain[-1].based_on:
        if len(chain) > _DEEPEST_BASE:
            raise Error(
                f"The hardware file {entry.origin}: based_on leads in a circle; base it on a complete file."
            )
        base = chain[-1].based_on
        if _is_path(base):  # as seen from the file that says so
            base = str(Path(chain[-1].origin).parent / Path(base).expanduser())
        chain.append(_find(entry.kind, base))
    return chain


def _find(kind: str, name: str, *, any_kind: bool = False) -> Entry:
    if _is_path(name):
        entry = _read(Path(name).expanduser())
    elif name in _bundled_names(kind):
        entry = _bundled(kind, name)
    else:
        path = next(
            (path for folder in folders() for path in _files(folder, kind) if path.stem == name), None
        )
        if path is None:
            raise _unknown(kind, name, names(kind))
        entry = _read(path)
        if entry.name != name:
            raise Error(
                f'The hardware file {path}: name is {entry.name!r}; call it "{name}" like the file, or rename the file.'
            )
    if entry.kind != kind and not any_kind:
        raise Error(f"The hardware file {entry.origin} describes a {entry.kind}, and a {kind} is asked for.")
    return entry


def _is_path(name: str) -> bool:
    return name.endswith(".toml") or "/" in name or os.sep in name


def _files(folder: Path, kind: str) -> list[Path]:
    """The files of a kind in a folder of the user's, or in its sub-folder of that kind."""
    own = sorted((folder / f"{kind}s").glob("*.toml")) if (folder / f"{kind}s").is_dir() else []
    mixed = sorted(folder.glob("*.toml")) if folder.is_dir() else []
    return own + [path for path in mixed if _kind_of(path) in (kind, None)]


def _kind_of(path: Path) -> str | None:
    """What a file says it describes; None if it is not readable, which is an error when it is used."""
    try:
        return _read(path).kind
    except Error:
        return None


def _read(path: Path) -> Entry:
    try:
        status = path.stat()
        return _parsed(path, status.st_mtime_ns, status.st_size)
    except OSError as problem:
        raise Error(f"The hardware file {path} cannot be read: {problem.strerror}. Check the path.") from None
    except UnicodeDecodeError:
        raise Error(f"The hardware file {path} is not text in UTF-8; save it as such.") from None


@functools.lru_cache(maxsize=256)
def _parsed(path: Path, modified: int, size: int) -> Entry:
    """The parsed file; the time and size make a changed file a new one."""
    entry = parse(path.read_text(encoding="utf-8"), str(path))
    if entry.name in _bundled_names(entry.kind):
        raise Error(
            f"The hardware file {path}: name is {entry.name!r}, which is a {entry.kind} that comes with Tremula; "
            "give yours another name."
        )
    return entry


@functools.cache
def _bundled(kind: str, name: str) -> Entry:
    file = _DATA / f"{kind}s" / f"{name}.toml"
    return parse(file.read_text(encoding="utf-8"), f"{kind}s/{name}.toml (of the package)")


@functools.cache
def _bundled_names(kind: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (_DATA / f"{kind}s").glob("*.toml")))


def _unknown(kind: str, name: str, known: tuple[str, ...]) -> Error:
    import difflib  # only needed on the way to an error

    near = difflib.get_close_matches(name, known, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return Error(
        f"There is no {kind} called {name!r}.{hint} Known: {', '.join(known)}. Files of your own are looked for in "
        f"{', '.join(map(str, folders()))}, or give the path of one (docs/hardware.md says what goes into it)."
    )
