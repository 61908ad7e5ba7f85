"""Which virtual IPUs this machine has: one system of the hardware catalogue, chosen by the user.

The environment is asked first (TREMULA_SYSTEM, TREMULA_VIRTUAL_IPUS), then the file that `tremula system use`
writes; else it is a Bow-Pod16. TREMULA_VIRTUAL_IPUS=0 stands for a machine without IPUs, on which programs get an
IPU model that never runs out. All programs of a user share the system, unless TREMULA_OWN_SYSTEM names another one
of the same kind.
"""

from __future__ import annotations

import re
import socket
import tomllib
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tremula import log
from tremula.atomic_files import atomic_open, cannot_write
from tremula.errors import Error
from tremula.hardware.catalogue import smallest_system, target
from tremula.hardware.system import System
from tremula.private_files import Untrusted
from tremula.settings.directories import state_folder, state_subfolder
from tremula.settings.environment import env

#: the system of a machine unless the user chooses one
DEFAULT = "bow-pod16"
#: most IPUs that a system may have: four racks of 64
MAX_IPUS = 256
_MAX_CONFIG_BYTES = 1 << 16
_MAX_NAME = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True)
class VirtualSystem:
    """A system of virtual IPUs."""

    hardware: System  #: what it is made of
    ipus: int  #: how many of its IPUs the machine shows
    chosen_by: str  #: who chose it, as users would look for it

    @property
    def name(self) -> str:
        """Its name in the catalogue, with the number of IPUs where that is not the system's own."""
        whole = self.ipus == self.hardware.ipus
        return self.hardware.name if whole else f"{self.hardware.machine.name}:{self.ipus}"


def current() -> VirtualSystem | None:
    """The system of this machine, or None without IPUs. Raises Error if the chosen system does not exist."""
    count: int | None = env.get("TREMULA_VIRTUAL_IPUS")
    if count == 0:
        return None
    name, chosen_by = _chosen()
    system = _checked(target(name, 1), chosen_by)
    if count is None:
        return VirtualSystem(system, system.ipus, chosen_by)
    if count > MAX_IPUS:
        raise Error(f"TREMULA_VIRTUAL_IPUS is {count}: a machine has at most {MAX_IPUS} virtual IPUs.")
    if count != system.ipus:
        system = smallest_system(system.chip, count)
    return VirtualSystem(system, count, "TREMULA_VIRTUAL_IPUS")


def model_only() -> bool:
    """Whether programs are told that they run on an IPU model."""
    if env.get("POPTORCH_IPU_MODEL") or env.get("POPTORCH_SMALL_IPU_MODEL"):
        return True
    return bool(env.get("TREMULA_VIRTUAL_IPUS") == 0)


def own_name() -> str:
    """The word under which this program shares a system with no program but those that have the same word."""
    return str(env.get("TREMULA_OWN_SYSTEM"))


def config_file() -> Path:
    """Where the choice of a system is kept."""
    return Path(platformdirs.user_config_dir("tremula", appauthor=False)) / "machine.toml"


def choose(name: str) -> System:
    """Make `name` the system of this machine for programs that are started from now on.

    Raises Error if there is no such system, or the file cannot be written.
    """
    system = _checked(target(name, 1), name)
    path = config_file()
    try:
        with atomic_open(path) as file:
            file.write("# the virtual IPUs of this machine; written by `tremula system use`\n")
            file.write(f"system = {_quoted(name)}\n")
    except OSError as problem:
        raise Error(f"The choice of a system, {cannot_write(path, problem)}") from problem
    return system


def forget() -> None:
    """Go back to the default system."""
    config_file().unlink(missing_ok=True)


def _chosen() -> tuple[str, str]:
    name: str = env.get("TREMULA_SYSTEM")
    if name:
        return name, "TREMULA_SYSTEM"
    path = config_file()
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_CONFIG_BYTES)
    except OSError:
        return DEFAULT, "default"
    try:
        chosen = tomllib.loads(data.decode()).get("system")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise Error(
            f"{path} cannot be read: {problem}. Correct the file, or remove it to use the default system."
        ) from problem
    if not isinstance(chosen, str) or not chosen:
        raise Error(f'{path} needs a line such as system = "bow-pod16". Correct the file, or remove it.')
    return chosen, str(path)


def _checked(system: System, chosen_by: str) -> System:
    if system.ipus > MAX_IPUS:
        raise Error(
            f"{system.name} ({chosen_by}) has {system.ipus} IPUs; a machine has at most {MAX_IPUS} virtual IPUs."
        )
    return system


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    if not name.isprintable():
        raise Error(f"{name!r} is not a valid system name.")
    return f'"{escaped}"'


def folder_of(system: VirtualSystem) -> Path:
    """The folder of a system's files for this user, made if it is not there; raises Error if it cannot be made.

    A home folder may be shared by many hosts, and each host has IPUs of its own; so has each choice of a system, and
    each word in TREMULA_OWN_SYSTEM.
    """
    host = _UNSAFE.sub("_", socket.gethostname()) or "host"
    own = _UNSAFE.sub("_", own_name())[:_MAX_NAME]
    name = f"{_UNSAFE.sub('_', system.name)}-{system.ipus}" + (f"@{own}" if own else "")
    state = state_folder()
    if state.problem:
        log.warn_once("state folder", state.warning)
    below = ("machine", host, name)
    try:
        return state_subfolder(*below)
    except Untrusted as problem:
        raise Error(
            f"The folder for the virtual IPUs is not safe from changes by other users: {problem}. Set "
            "TREMULA_STATE_DIR to another folder."
        ) from None
    except OSError as problem:
        raise Error(
            f"The folder for the virtual IPUs, {state.path.joinpath(*below)}, cannot be created: {problem.strerror}. "
            "Make the folder above writable, or set TREMULA_STATE_DIR to another folder."
        ) from problem
