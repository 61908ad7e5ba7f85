"""Files that popc makes: the sources of codelets, what they include of the user's own, and the flags.

A ZIP archive with a checked description. Nothing in it is compiled code: it is compiled where it is used, so it
does not depend on a computer. Adding one to a graph runs the code of whoever made it.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from tremula.atomic_files import atomic_open_binary
from tremula.checked_json import BadValue, decode
from tremula.frontends.poplar.codelets.cpp.sources import Sources
from tremula.frontends.poplar.errors import GraphObjectLoadError

_DESCRIPTION = "tremula-codelets.json"
_FORMAT = 1
_MAGIC = b"PK\x03\x04"
_LARGEST = 64 << 20
_MOST_FILES = 4096
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same sources give the same bytes
_NAME = re.compile(r"[\w.+@ -]+(/[\w.+@ -]+)*")


def is_archive(path: Path) -> bool:
    """Whether a file is to be read as an archive."""
    if path.suffix == ".gp":
        return True
    with path.open("rb") as file:
        return file.read(4) == _MAGIC


def write(path: Path, sources: Sources) -> None:
    """Write the sources, all of which are texts.

    Raises:
        OSError: it cannot be written.
    """
    files = {name: _digest(text) for name, text in sources.contents.items()}
    description = asdict(_Description(_FORMAT, list(sources.main), list(sources.flags), files))
    with atomic_open_binary(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in ((_DESCRIPTION, json.dumps(description, indent=1)), *sources.contents.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), text.encode(), zipfile.ZIP_DEFLATED)


def read(path: Path) -> Sources:
    """Read an archive back; whatever is wrong with it is a GraphObjectLoadError that names it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _sources(archive)
    except (
        OSError,
        zipfile.BadZipFile,
        _Bad,
        UnicodeDecodeError,
        NotImplementedError,
        RuntimeError,
        EOFError,
    ) as problem:
        raise GraphObjectLoadError(
            f"{path} is not a file of codelets made by this popc ({problem}); make it again from its source"
        ) from None


class _Bad(ValueError):
    """The archive is not what popc writes."""


@dataclass(frozen=True)
class _Description:
    """What the archive says of itself: the main files, the flags, and the SHA-256 of each file."""

    format: int
    main: list[str]
    flags: list[str]
    files: dict[str, str]


def _sources(archive: zipfile.ZipFile) -> Sources:
    members = {each.filename: each for each in archive.infolist()}
    if _DESCRIPTION not in members:
        raise _Bad("it has no description")
    if len(members) > _MOST_FILES or sum(each.file_size for each in members.values()) > _LARGEST:
        raise _Bad("it is too large")
    try:
        description = decode(_Description, json.loads(_text(archive, members[_DESCRIPTION])))
    except (BadValue, json.JSONDecodeError, RecursionError) as problem:
        raise _Bad(f"its description cannot be read: {problem}") from None
    if description.format != _FORMAT:
        raise _Bad(f"it has format {description.format}, not {_FORMAT}")
    contents = {}
    for name, digest in description.files.items():
        if not _NAME.fullmatch(name) or ".." in PurePosixPath(name).parts or name not in members:
            raise _Bad(f"it lists {name!r:.80}")
        contents[name] = _text(archive, members[name])
        if _digest(contents[name]) != digest:
            raise _Bad(f"{name} has changed since it was made")
    if not set(description.main) <= set(contents):
        raise _Bad("a main file is missing")
    return Sources((), tuple(description.flags), tuple(description.main), contents)


def _text(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    with archive.open(member) as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise _Bad("it is too large")
    return data.decode()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
