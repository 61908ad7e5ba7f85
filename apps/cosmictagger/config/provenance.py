"""Where results come from: configuration, versions, command line, data files, host and seed, in one JSON file."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cosmictagger import __version__
from cosmictagger.config.groups import Config
from cosmictagger.config.loading import as_plain

_DIGESTED = 1 << 20
_PACKAGES = (
    "torch",
    "numpy",
    "h5py",
    "tremula",
    "poptorch",
    "matplotlib",
    "tensorboard",
    "PyYAML",
    "safetensors",
)


def provenance(config: Config, data_files: list[Path]) -> dict[str, Any]:
    """All of it, as plain values."""
    return {
        "cosmictagger": __version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command_line": [str(each) for each in sys.argv],
        "folder": str(Path.cwd()),
        "git": _git(),
        "python": platform.python_version(),
        "packages": _versions(),
        "host": {
            "name": platform.node(),
            "system": f"{platform.system()} {platform.release()}",
            "machine": platform.machine(),
            "cores": os.cpu_count(),
        },
        "seed": config.run.seed,
        "data_files": [_file(path) for path in data_files],
        "config": as_plain(config),
    }


def as_json(values: dict[str, Any]) -> str:
    """The text of provenance.json."""
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _git() -> dict[str, Any] | None:
    """The commit of the source, if it is in a repository and git is there."""
    here = Path(__file__).resolve().parent

    def ask(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(here), *arguments], capture_output=True, text=True, timeout=5, check=False
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # a package in site-packages may lie inside somebody else's repository
    if ask("ls-files", "--error-unmatch", "provenance.py") is None:
        return None
    changes = ask("status", "--porcelain", "--untracked-files=no")
    return {"commit": ask("rev-parse", "HEAD"), "changed": None if changes is None else bool(changes)}


def _file(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        start = file.read(_DIGESTED)
    return {
        "path": str(path.resolve()),
        "bytes": path.stat().st_size,
        "sha256_of_first_mebibyte": hashlib.sha256(start).hexdigest(),
    }
