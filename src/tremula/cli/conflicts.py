"""Finds other packages in this environment that use the same import names as Tremula.

A real Poplar SDK, or an unrelated distribution of the same name, may be imported instead of Tremula.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tremula
from tremula.settings.shims import STACK_PACKAGES, is_own_sdk


@dataclass(frozen=True)
class OtherPackage:
    """A package that Tremula did not install."""

    name: str
    where: str
    shadows_ours: bool  # programs import it instead of Tremula's
    distribution: bool  # pip knows it under that name


def home() -> Path:
    """The folder that contains Tremula's import packages."""
    return Path(tremula.__file__).resolve().parent.parent


def find_package(name: str) -> Path | None:
    """The folder that `import name` would load from. Nothing is imported."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.origin and spec.origin != "namespace":
        return Path(spec.origin).resolve().parent
    locations = list(spec.submodule_search_locations or ())
    return Path(locations[0]).resolve() if locations else None


def foreign_packages() -> list[OtherPackage]:
    """Packages with names of the stack that were not installed with Tremula."""
    found = []
    shipped = home()
    for name in STACK_PACKAGES:
        folder = find_package(name)
        version = _distribution_version(name)
        ours = folder is not None and folder == shipped / name
        if folder is not None and not ours:
            # a name that we do not ship hides nothing of ours
            shadows = (shipped / name).is_dir()
            found.append(OtherPackage(name, str(folder), shadows, distribution=version is not None))
        elif ours and version is not None:
            where = f"{folder} (the distribution {name} {version} was installed over Tremula's files)"
            found.append(OtherPackage(name, where, shadows_ours=True, distribution=True))
    return found


def poplar_sdk(environ: Mapping[str, str] = os.environ) -> str | None:
    """The path of an enabled Poplar SDK, or None."""
    enabled = environ.get("POPLAR_SDK_ENABLED")
    if enabled:
        return None if is_own_sdk(enabled) else enabled
    compiler = shutil.which("popc", path=environ.get("PATH"))
    return str(Path(compiler).parent) if compiler and not _is_ours(Path(compiler)) else None


def _is_ours(command: Path) -> bool:
    """Whether a command is a script that pip created for Tremula."""
    try:
        return b"tremula" in command.read_bytes()[:4096]
    except OSError:
        return False


def _distribution_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
