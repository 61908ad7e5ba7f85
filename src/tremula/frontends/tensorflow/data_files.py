"""Arrays by name in a file: a NumPy archive, as `export_dataset_to_file` and its like write it (`numpy.load` reads it).

The real stack writes a format of its own, which its tools read. Nothing in these files is executed when they are read.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from tremula.atomic_files import atomic_open_binary


def write(path: str | Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a file, as a whole; folders that are missing are made."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_open_binary(target) as file:
        np.savez(file, **{_escaped(name): array for name, array in arrays.items()})  # type: ignore[arg-type]


def read(paths: Iterable[str | Path]) -> dict[str, np.ndarray]:
    """The arrays of several files.

    Raises:
        ValueError: one of them is not such a file, or a name is in two of them.
    """
    found: dict[str, np.ndarray] = {}
    for path in paths:
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {_unescaped(name): archive[name] for name in archive.files}
        except (ValueError, zipfile.BadZipFile, AttributeError, EOFError) as problem:
            raise ValueError(f"{path} is not a file of exported arrays: {problem}.") from None
        twice = sorted(set(arrays) & set(found))
        if twice:
            raise ValueError(f"{path} has {twice[0]!r}, which is in another of the files as well.")
        found |= arrays
    return found


def _escaped(name: str) -> str:
    """Names of variables have slashes, which would be folders in an archive."""
    return name.replace("%", "%25").replace("/", "%2F")


def _unescaped(name: str) -> str:
    return name.replace("%2F", "/").replace("%25", "%")
