"""The user's key: 32 random bytes that sign every entry, so that a file put there by another hand is no entry.

It lies in the user's private state folder, for the user's eyes only. Whoever can read it can already act as the
user. It appears complete or not at all, and the first of several processes to make one wins.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
from pathlib import Path

from tremula.cache import trust
from tremula.cache.trust import Untrusted

LENGTH = 32


class BadKey(Untrusted):
    """The user's key cannot be used; the text says why and what to do."""


_NAME = "signing.key"


def load(directory: Path, create: bool = False) -> bytes | None:
    """The key in the private folder `directory`, or None when there is none yet.

    Args:
        directory: the private folder.
        create: make folder and key if they are missing.

    Raises:
        BadKey: there is one, but others may know or choose it; or it cannot be read or made.
    """
    path = directory / _NAME
    try:
        if create:
            trust.make_directory(directory)
        else:
            trust.require_trusted(directory)
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
    advice = f"remove it (entries signed with it are then made again): rm {shlex.quote(str(path))}"
    try:
        descriptor = trust.open_to_read(path)
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
        raise Untrusted(f"{path} does not hold a key of {LENGTH} bytes; {advice}")
    return key


def _create(path: Path) -> None:
    draft = path.parent / f".{path.name}.{secrets.token_hex(8)}.part"
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(LENGTH))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # unlike a rename, fails if somebody else was faster
        except FileExistsError:
            return
        except (OSError, AttributeError, NotImplementedError):
            # No hard links here. If two processes get to this point at once, entries signed by the loser
            # do not verify later and are made again.
            if not path.exists():
                os.replace(draft, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)
