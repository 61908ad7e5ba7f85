"""The user's key: 32 random bytes that sign every entry, so that files of other users are not accepted.

It lies in the user's private state folder, readable by the user only. The file is written atomically, and the first of
several processes to make one wins.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
from pathlib import Path

from tremula import private_files
from tremula.atomic_files import atomic_open_binary
from tremula.private_files import Untrusted

LENGTH = 32


class BadKey(Untrusted):
    """The user's key cannot be used. The text gives the reason and the remedy."""


_NAME = "signing.key"


def load(directory: Path, create: bool = False) -> bytes | None:
    """The key in the private folder `directory`, or None when there is none yet and it is not to be made.

    Raises BadKey if others may know or choose the key; or if it cannot be read or made.
    """
    path = directory / _NAME
    try:
        if create:
            private_files.make_code_directory(directory)
        else:
            private_files.require_code_trusted(directory)
        found = _read(path)
        if found is None and create:
            _create(path)
            found = _read(path)
    except Untrusted as problem:
        raise BadKey(str(problem)) from None
    except OSError as problem:
        raise BadKey(f"{path} cannot be used ({problem.strerror or problem})") from None
    return found


def _read(path: Path) -> bytes | None:
    advice = f"remove it (entries signed with it are then compiled again): rm {shlex.quote(str(path))}"
    try:
        descriptor = private_files.open_to_read(path)
    except FileNotFoundError:
        return None
    except Untrusted as problem:
        raise Untrusted(f"{path} is {problem}; {advice}") from None
    with os.fdopen(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if hasattr(os, "getuid"):
            if info.st_uid != os.getuid():
                raise Untrusted(f"{path} is owned by another user (uid {info.st_uid}); {advice}")
            if info.st_mode & 0o077:
                raise Untrusted(f"{path} can be read by others (mode {info.st_mode & 0o777:o}); {advice}")
        key = file.read(LENGTH + 1)
    if len(key) != LENGTH:
        raise Untrusted(f"{path} does not contain a key of {LENGTH} bytes; {advice}")
    return key


def _create(path: Path) -> None:
    # Without hard links, two processes may both get here: entries signed by the first do not verify and are made again.
    with (
        contextlib.suppress(FileExistsError),  # another process was faster
        atomic_open_binary(path, permissions=0o600, replace=False, parents=False) as file,
    ):
        file.write(secrets.token_bytes(LENGTH))
