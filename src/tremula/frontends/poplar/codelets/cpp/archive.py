"""Files that popc makes: the sources of codelets, what they include of the user's own, and the flags.

A checked archive. Nothing in it is compiled code: it is compiled where it is used, so it does not depend on a computer.
Adding one to a graph runs the code of whoever made it.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from tremula import checked_archive
from tremula.atomic_files import atomic_open_binary
from tremula.checked_json import BadValue, decode
from tremula.errors import Error
from tremula.frontends.poplar.codelets.cpp.sources import Sources, honoured
from tremula.frontends.poplar.errors import GraphObjectLoadError

_LARGEST = 64 << 20
_NAME = re.compile(r"[\w.+@ -]+(/[\w.+@ -]+)*")
_KIND = checked_archive.Kind(
    "codelets.json", "tremula-codelets", 1, "a file of codelets made by popc", _LARGEST,
    "Make it again from its source with popc",
)  # fmt: skip


@dataclass(frozen=True)
class _Content:
    """What an archive holds: the flags, the main files, and the names of all files, whose bytes are its arrays."""

    flags: list[str]
    main: list[str]
    files: list[str]


def is_archive(path: Path) -> bool:
    """Whether a file is to be read as an archive."""
    return path.suffix == ".gp" or _KIND.is_one(path)


def write(path: Path, sources: Sources) -> None:
    """Write sources that are all texts.

    Raises:
        OSError: it cannot be written.
    """
    content = _Content(list(sources.flags), list(sources.main), list(sources.contents))
    texts = {
        f"file{number}": np.frombuffer(text.encode(), dtype=np.uint8)
        for number, text in enumerate(sources.contents.values())
    }
    with atomic_open_binary(path) as file:
        checked_archive.write_archive(file, _KIND.name, {**_KIND.head(), **asdict(content)}, texts)


def read(path: Path) -> Sources:
    """Read an archive back; whatever is wrong with it is a GraphObjectLoadError that names it."""
    try:
        document, arrays = _KIND.read(path, str(path))
        try:
            return _checked(document, arrays)
        except BadValue as problem:
            raise _KIND.damaged(str(path), problem) from None
    except Error as problem:
        raise GraphObjectLoadError(problem.message) from None


def _checked(document: dict[str, object], arrays: checked_archive.Arrays) -> Sources:
    content = decode(_Content, {name: each for name, each in document.items() if name not in _KIND.head()})
    contents: dict[str, str] = {}
    for number, name in enumerate(content.files):
        if not _NAME.fullmatch(name) or ".." in PurePosixPath(name).parts or name in contents:
            raise BadValue(f"it names a file {name!r:.80}")
        data = arrays.get(f"file{number}")
        if data is None or data.dtype != np.uint8:
            raise BadValue(f"the text of {name} is missing")
        try:
            contents[name] = data.tobytes().decode()
        except UnicodeDecodeError:
            raise BadValue(f"{name} is not text") from None
    if not content.main or not set(content.main) <= set(contents):
        raise BadValue("a main file is missing")
    return Sources((), honoured(shlex.join(content.flags)), tuple(content.main), contents)
