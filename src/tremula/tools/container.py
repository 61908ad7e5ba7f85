"""gc-docker and gc-podman: start a container whose programs see the virtual IPUs of this machine.

A container needs no device files: it needs the folder in which the virtual IPUs are kept, the host's name by which
that folder is found, and the variables that choose a system. The image has to bring Tremula.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import socket
import subprocess
from collections.abc import Sequence

from tremula import log
from tremula.errors import Error
from tremula.settings.directories import state_directory
from tremula.tools import tool

#: variables that a container's programs need to see the same IPUs
_PREFIXES = ("TREMULA_", "IPUOF_", "GCDA_", "POPTORCH_", "POPLAR_", "VIPU_")
#: endings of variables that name a folder on the host
_PLACES = ("_DIR", "_PATH", "_FILE")
_INSIDE = "/var/lib/tremula"


def main(arguments: Sequence[str] | None = None) -> int:
    """gc-docker."""
    return _main("docker", arguments)


def main_podman(arguments: Sequence[str] | None = None) -> int:
    """gc-podman."""
    return _main("podman", arguments)


def build_parser(engine: str = "docker") -> argparse.ArgumentParser:
    """The command line of the tool for an engine."""
    name = f"gc-{engine}"
    made = tool.parser(
        name,
        f"Start a container with {engine} run, so that its programs see this machine's virtual IPUs.",
        epilog=f"Example: {name} -- --rm -ti IMAGE gc-monitor",
    )
    tool.add_device(made, default=None)
    made.add_argument(
        "-e", "--echo", action="store_true", help=f"print the {engine} command and do not run it"
    )
    made.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=f"arguments of {engine} run, after --")
    return made


def _main(engine: str, arguments: Sequence[str] | None) -> int:
    return tool.run(f"gc-{engine}", build_parser(engine), lambda given: _start(engine, given), arguments)


def _start(engine: str, given: argparse.Namespace) -> int:
    if given.device_id is not None:
        tool.device_of(tool.occupancy(), given.device_id)  # says what there is, if it is not there
        log.no_effect("--device-id", "a container sees all virtual IPUs; partitions (`vipu`) divide them")
    command = command_line(engine, given.arguments)
    shown = shlex.join(command)
    if given.echo:
        print(shown)
        return 0
    if not given.arguments:
        raise Error(
            f"no image was given. Give it after --, as for {engine} run. The command would be:\n  {shown}"
        )
    found = shutil.which(engine)
    if found is None:
        raise Error(f"{engine} was not found on PATH. The command would be:\n  {shown}")
    return subprocess.run([found, *command[1:]], check=False).returncode


def command_line(engine: str, arguments: Sequence[str]) -> list[str]:
    """The command that starts the container."""
    state = state_directory().absolute()
    command = [
        engine,
        "run",
        "--ipc=host",
        f"--hostname={socket.gethostname()}",
        f"--volume={state}:{_INSIDE}",
        f"--env=TREMULA_STATE_DIR={_INSIDE}",
    ]
    if engine == "docker" and hasattr(os, "getuid") and os.getuid() != 0:
        # as the owner of the folder: root of the container would leave files there that this user cannot open
        command.append(f"--user={os.getuid()}:{os.getgid()}")
    names = sorted(name for name in os.environ if name.startswith(_PREFIXES) and not name.endswith(_PLACES))
    # values are handed over, and not shown
    return [*command, *(f"--env={name}" for name in names), *arguments]
