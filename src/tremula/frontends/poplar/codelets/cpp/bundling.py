"""Gathers sources with all that they include of the user's own, so that an archive of them is complete.

Includes are followed in the text, whatever the conditions around them say: too much does no harm. What is not found
beside the including file or in the folders of -I flags is the compiler's own, or ours.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from pathlib import Path

from tremula.frontends.poplar.codelets.cpp.sources import HERE, Sources, of_files
from tremula.frontends.poplar.errors import GraphObjectLoadError

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_MOST = 4096


def bundle(paths: Sequence[Path], flags: str) -> Sources:
    """Texts of the sources and of what they include, under names that keep their places to each other.

    Raises:
        GraphObjectLoadError: a source cannot be read.
    """
    given = of_files(list(paths), flags)
    folders, others = _folders(given.flags)
    found: dict[Path, str] = {}
    waiting = [*given.files, *(Path(each).resolve() for each in _included_by_flags(given.flags))]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        if len(found) >= _MOST:
            raise GraphObjectLoadError(f"{given.title} includes more than {_MOST:,} files")
        found[path] = _text(path)
        for quoted, angled in _INCLUDE.findall(found[path]):
            places = [path.parent, *folders] if quoted else folders
            waiting += [file.resolve() for place in places if (file := place / (quoted or angled)).is_file()][
                :1
            ]
    root = Path(os.path.commonpath([path.parent for path in [*found, *(each / "x" for each in folders)]]))
    inside = [f"-I{HERE}/{_name(folder, root)}" for folder in folders]
    moved = [_moved(each, root) for each in others]
    return Sources(
        (),
        (*inside, *moved),
        tuple(_name(path, root) for path in given.files),
        {_name(path, root): text for path, text in found.items()},
    )


def _folders(flags: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The folders of -I flags, and the other flags."""
    folders, others = [], []
    words = iter(flags)
    for word in words:
        name = next((each for each in ("-isystem", "-iquote", "-I") if word.startswith(each)), None)
        if name is None:
            others.append(word)
            continue
        folder = Path(word[len(name) :] or next(words, ".")).resolve()
        if folder.is_dir():
            folders.append(folder)
    return folders, others


def _included_by_flags(flags: Sequence[str]) -> list[str]:
    return [after for word, after in itertools.pairwise(flags) if word == "-include"]


def _moved(flag: str, root: Path) -> str:
    path = Path(flag)
    return f"{HERE}/{_name(path.resolve(), root)}" if not flag.startswith("-") and path.is_file() else flag


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise GraphObjectLoadError(f"{path} cannot be read: {problem.strerror or problem}") from None
