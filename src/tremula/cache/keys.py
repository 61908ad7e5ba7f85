"""What an entry is called: the SHA-256 of a canonical description of everything that its contents depend on.

Two descriptions get one key only if they say the same: the text that is hashed has sorted names, no free
spaces, and keeps numbers, texts, truth values and absence apart.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

SUFFIX = ".popef"

_KEY = re.compile(r"[0-9a-f]{64}")
_FILE = re.compile(r"([0-9a-f]{64})\.popef")


def key_of(parts: Mapping[str, Any]) -> str:
    """The key for what `parts` (plain JSON data, names as texts) describes; the order of names is no matter.

    Raises TypeError if a value is not plain data; the message says where it is.
    """
    text = json.dumps(_plain(parts, "the description"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def check_key(key: str) -> str:
    """`key` itself, when it is one: it becomes a file name, so nothing else may pass."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise ValueError(f"a key has 64 lowercase hexadecimal digits, but this one is {key!r:.100}")
    return key


def file_name(key: str) -> str:
    """The name of the file that holds the entry."""
    return check_key(key) + SUFFIX


def key_in(name: str) -> str | None:
    """The key in a file's name, or None if the file is not an entry."""
    match = _FILE.fullmatch(name)
    return match[1] if match else None


def _plain(value: Any, where: str) -> Any:
    """`value` rebuilt from plain data; JSON itself would quietly merge the names 1 and "1"."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"in {where}, the name {name!r:.100} is not a string")
        return {name: _plain(each, f"{where}[{name!r:.100}]") for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, f"{where}[{index}]") for index, each in enumerate(value)]
    raise TypeError(f"{where} is a {type(value).__name__}, which a key cannot cover")
