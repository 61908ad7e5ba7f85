"""Open MPI's `mpirun`: finds it, parses the user's options for it, and builds its command line.

The command line looks like that of the real launcher: one block per instance with its variables, separated by colons.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tremula.launch.hosts import Host, is_here
from tremula.launch.options import Settings
from tremula.launch.placement import Layout

#: variables of the launcher's own environment that every instance gets, on whichever host
HANDED_ON = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "PVTI_OPTIONS")
_OURS = re.compile(r"TREMULA_(?!RESERVATION$|STATE_DIR$|POPRUN$)[A-Z_]+")
_AS_ROOT = "--allow-run-as-root"
_TAGS = ("--tag-output", "-tag-output")


@dataclass(frozen=True)
class Asked:
    """The options for mpirun."""

    everywhere: list[str] = field(default_factory=list)  #: options of mpirun as a whole
    each: list[str] = field(default_factory=list)  #: options before each instance
    variables: dict[str, str] = field(default_factory=dict)  #: values that `-x NAME=value` sets
    needs_mpirun: bool = False  #: whether there is an option that only mpirun can follow

    @property
    def anything(self) -> bool:
        """Whether any option for mpirun was given."""
        return bool(self.everywhere or self.each)

    @property
    def as_root(self) -> bool:
        """Whether the options allow root."""
        return _AS_ROOT in self.everywhere or _AS_ROOT in self.each


def asked(settings: Settings) -> Asked:
    """Parse `--mpi-global-args` and `--mpi-local-args`. Raises ValueError for unbalanced quotation marks."""
    everywhere, each = shlex.split(settings.mpi_global_args), shlex.split(settings.mpi_local_args)
    variables: dict[str, str] = {}
    needs_mpirun = False
    rest = [*everywhere, *each]
    while rest:
        word = rest.pop(0)
        if word in (*_TAGS, _AS_ROOT, "--oversubscribe"):
            continue
        if word == "-x" and rest:
            name, equals, value = rest.pop(0).partition("=")
            if equals:
                variables[name] = value
        elif word == "--bind-to" and rest[:1] == ["none"]:
            rest.pop(0)
        else:
            needs_mpirun = True
    return Asked(everywhere, each, variables, needs_mpirun)


def find_mpirun() -> str | None:
    """The path of mpirun: on PATH, in this Python's environment, or in OPAL_PREFIX."""
    found = shutil.which("mpirun")
    if found:
        return found
    folders = [Path(sys.executable).parent]
    if os.environ.get("OPAL_PREFIX"):
        folders.append(Path(os.environ["OPAL_PREFIX"]) / "bin")
    return next((str(folder / "mpirun") for folder in folders if os.access(folder / "mpirun", os.X_OK)), None)


def root_is_refused(settings: Settings, wanted: Asked) -> bool:
    """Whether mpirun would refuse to start because the user is root."""
    in_environment = all(
        os.environ.get(name) == "1" for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
    )
    return os.geteuid() == 0 and not (settings.allow_run_as_root or wanted.as_root or in_environment)


def arguments(
    mpirun: str,
    layout: Layout,
    settings: Settings,
    wanted: Asked,
    variables: list[dict[str, str]],
    wrapped: list[list[str]],
) -> list[str]:
    """The whole command line; `variables` and `wrapped` are the variables and the command of each instance."""
    everywhere = [word for word in wanted.everywhere if word not in (*_TAGS, _AS_ROOT)]
    words = [mpirun, "--bind-to", "none", "--tag-output"]
    if settings.allow_run_as_root or wanted.as_root:
        words.append(_AS_ROOT)
    if settings.host_subnet and len(layout.hosts) > 1:
        words += ["--mca", "oob_tcp_if_include", settings.host_subnet]
        words += ["--mca", "btl_tcp_if_include", settings.host_subnet]
    words += everywhere
    for instance in layout.instances:
        if instance.index:
            words.append(":")
        # every block repeats how many instances the host takes, else mpirun counts its cores
        host = _spelled(layout.hosts[instance.host])
        words += ["-np", "1", "--host", f"{host}:{layout.instances_per_host}"]
        for name, value in variables[instance.index].items():
            words += ["-x", f"{name}={value}"]
        named = [name for name in HANDED_ON if name in os.environ]
        for name in [*named, *sorted(name for name in os.environ if _OURS.fullmatch(name))]:
            if name not in variables[instance.index]:
                words += ["-x", name]
        words += [word for word in wanted.each if word != _AS_ROOT]
        words += wrapped[instance.index]
    return words


def _spelled(host: Host) -> str:
    return "localhost" if host.name == "localhost" or is_here(host.name) else host.name
