"""Checks a run before it starts and reports all problems together."""

from __future__ import annotations

import ipaddress
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from tremula.distributed.protocol import LAUNCHER
from tremula.errors import Error
from tremula.formatting import plain
from tremula.launch import hosts as host_lists
from tremula.launch import mpi_arguments
from tremula.launch.hosts import BadHostsError, Host, Network
from tremula.launch.mpi_arguments import Asked
from tremula.launch.options import Settings
from tremula.launch.placement import Layout, default_link_domains, rounded_up
from tremula.machine import systems
from tremula.machine.occupancy import Occupancy, current_occupancy, too_few


@dataclass(frozen=True)
class Plan:
    """A run that can be started."""

    settings: Settings  #: what the user asked for
    layout: Layout  #: who runs where
    here: int | None  #: the number of this machine among the hosts; None if it only launches
    #: where IPUs come from; None if none are needed or there is only an IPU model
    occupancy: Occupancy | None
    mpirun: str | None  #: the program that starts the instances; None if the launcher does
    asked: Asked  #: what users ask of mpirun
    network: Network | None  #: the network that hosts talk over


def plan(settings: Settings) -> tuple[Plan | None, list[str]]:
    """The run that the settings describe, or the problems with them, one sentence each."""
    problems: list[str] = []
    if LAUNCHER in os.environ:
        problems.append(
            f"poprun was started inside an instance of another poprun (process {plain(os.environ[LAUNCHER], 20)}). "
            f"An instance cannot start instances; unset {LAUNCHER} to start a separate run."
        )
    hosts = _hosts(settings, problems)
    layout = _layout(settings, hosts, problems)
    network = _network(settings, problems)
    asked = _asked(settings, problems)
    here = [number for number, host in enumerate(hosts) if host_lists.is_here(host.name)]
    if len(here) > 1:
        names = " and ".join(hosts[number].name for number in here)
        problems.append(f"{names} are the same machine (this one); name each host once.")
    away = [host.name for number, host in enumerate(hosts) if number not in here]
    unknown = [name for name in away if not host_lists.is_known(name)]
    if unknown:
        problems.append(f"Cannot resolve host name(s): {', '.join(unknown)}. Check the names, or /etc/hosts.")
    mpirun = _mpirun(settings, asked, bool(away), problems)
    occupancy = _occupancy(settings, layout, problems)
    _check_command(settings, bool(away), problems)
    _check_instances(settings, problems)
    if problems or layout is None:
        return None, problems
    return Plan(settings, layout, here[0] if here else None, occupancy, mpirun, asked, network), []


def _hosts(settings: Settings, problems: list[str]) -> list[Host]:
    if settings.host and settings.hostfile:
        problems.append("--host and --hostfile cannot be used together; give one of them.")
    option, text = ("--host", settings.host) if settings.host else ("--hostfile", settings.hostfile)
    if "host" in settings.given and not settings.host and not settings.hostfile:
        problems.append("--host is empty; leave it out to run on this host.")
    if not text:
        return [Host("localhost")]
    try:
        return host_lists.parse_list(text) if settings.host else host_lists.read_file(Path(text))
    except BadHostsError as problem:
        problems.append(f"{option}: {problem}.")
        return [Host("localhost")]


def _layout(settings: Settings, hosts: list[Host], problems: list[str]) -> Layout | None:
    instances, replicas = settings.num_instances, settings.num_replicas
    before = len(problems)
    if replicas % instances:
        problems.append(
            f"--num-replicas {replicas} cannot be divided evenly among --num-instances {instances}: "
            f"use {_multiples(instances)}."
        )
    if instances % len(hosts):
        problems.append(
            f"--num-instances {instances} cannot be divided evenly among {len(hosts)} hosts: "
            f"use {_multiples(len(hosts))}."
        )
    domains = settings.num_ilds
    if domains is None:
        # as many as the IPUs make, but never a domain without an instance
        domains = min(default_link_domains(rounded_up(replicas * settings.ipus_per_replica)), instances)
    elif instances < domains:
        problems.append(
            f"--num-instances {instances} is less than --num-ilds {domains}: each domain needs at least one instance."
        )
    each = instances // len(hosts)
    problems += [
        f"{host.name} has {host.slots} slot(s) in {settings.hostfile}, but the run places {each} instances there."
        for host in hosts
        if host.slots is not None and host.slots < each
    ]
    if len(problems) > before:
        return None
    return Layout(tuple(hosts), instances, replicas, settings.ipus_per_replica, domains)


def _multiples(number: int) -> str:
    return f"{number}, {2 * number}, {3 * number} or another multiple of {number}"


def _network(settings: Settings, problems: list[str]) -> Network | None:
    if not settings.host_subnet:
        return None
    try:
        return ipaddress.ip_network(settings.host_subnet, strict=False)
    except ValueError:
        problems.append(
            f"--host-subnet {plain(settings.host_subnet, 60)} is not a network such as 10.1.0.0/16."
        )
        return None


def _asked(settings: Settings, problems: list[str]) -> Asked:
    try:
        return mpi_arguments.asked(settings)
    except ValueError:
        problems.append("--mpi-global-args or --mpi-local-args has unbalanced quotation marks.")
        return Asked()


def _mpirun(settings: Settings, asked: Asked, away: bool, problems: list[str]) -> str | None:
    if not away and not asked.anything:
        return None
    mpirun = mpi_arguments.find_mpirun()
    if mpirun is None:
        if not away and not asked.needs_mpirun:
            return None  # the launcher does by itself what these options ask for
        why = "runs on other hosts" if away else "the options for MPI"
        problems.append(
            f"mpirun was not found on PATH, beside Python or in OPAL_PREFIX, and {why} need it. Install Open MPI "
            "(Debian, Ubuntu: apt install openmpi-bin), or set OPAL_PREFIX to its folder."
        )
        return None
    if mpi_arguments.root_is_refused(settings, asked):
        problems.append(
            "mpirun refuses to start programs as root. Run as another user, or give --allow-run-as-root yes, for "
            "example in a container."
        )
    return mpirun


def _occupancy(settings: Settings, layout: Layout | None, problems: list[str]) -> Occupancy | None:
    """The source of the IPUs, if any are needed."""
    if settings.offline_mode or layout is None or systems.model_only():
        return None
    try:
        occupancy = current_occupancy(settings.vipu_partition or None)
    except Error as problem:
        problems.append(f"{problem.message}")
        return None
    needed = layout.ipus_per_host
    if occupancy is not None and needed > 0 and not occupancy.candidates(needed):
        each = "" if len(layout.hosts) == 1 else f" on each of {len(layout.hosts)} hosts"
        problems.append(
            f"{settings.num_replicas} replica(s) with {settings.ipus_per_replica} IPU(s) each need a device of "
            f"{needed} IPU(s){each}, but {too_few(occupancy, needed)}. Use --offline-mode yes to run without IPUs."
        )
    return occupancy


def _check_command(settings: Settings, away: bool, problems: list[str]) -> None:
    if not settings.command:
        if not (settings.print_topology or settings.export_config):
            problems.append(
                "No program was given. Usage: poprun [options] program [arguments]; see poprun --help."
            )
        return
    program = settings.command[0]
    if away or shutil.which(program):
        return
    shown = plain(program, 200, lines=False)
    path = Path(program)
    if path.is_file():
        hint = f": it is not executable. Use `python {shown}`" if path.suffix == ".py" else ""
        problems.append(f"{shown} cannot be started{hint or ': it is not executable'}.")
    else:
        problems.append(f"{shown} was not found: it is neither a file nor a program on PATH.")


def _check_instances(settings: Settings, problems: list[str]) -> None:
    both = (settings.only_output_from_instance, settings.only_stdout_from_instance)
    for name, index in zip(("only-output-from-instance", "only-stdout-from-instance"), both, strict=True):
        if index is not None and index >= settings.num_instances:
            problems.append(
                f"--{name} {index} is out of range: the {settings.num_instances} instance(s) are numbered from 0 to "
                f"{settings.num_instances - 1}."
            )
    if None not in both:
        problems.append(
            "--only-output-from-instance and --only-stdout-from-instance cannot be used together; give one of them."
        )
