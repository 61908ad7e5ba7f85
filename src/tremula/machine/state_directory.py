"""The folder of a virtual system's files: one for each user, host and system.

A home folder may be shared by many hosts, and each host has IPUs of its own; so has each choice of a system. What
lies there is small, belongs to the user alone and may be removed while no program runs.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path

from tremula.errors import Error
from tremula.machine.systems import VirtualSystem
from tremula.settings.directories import state_directory

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def folder_of(system: VirtualSystem) -> Path:
    """The folder of a system on this host, made if it is not there; raises Error if it cannot be made."""
    host = _UNSAFE.sub("_", socket.gethostname()) or "host"
    path = state_directory() / "machine" / host / f"{_UNSAFE.sub('_', system.name)}-{system.ipus}"
    if path.is_dir():
        return path
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise Error(
            f"The virtual IPUs need a folder for who is attached, and {path} cannot be made: {problem.strerror}. "
            "Make it writable, or name another with TREMULA_STATE_DIR."
        ) from problem
    return path
