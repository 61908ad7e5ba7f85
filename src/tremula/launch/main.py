"""Entry point of `poprun`: reads and checks the command line, then starts the run.

torch is imported only when instances are started, so that help, errors and the topology appear at once.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from tremula.errors import Error
from tremula.formatting import plain
from tremula.launch import config_file, guard, help_text, topology
from tremula.launch.check import Plan, plan
from tremula.launch.command_line import parse
from tremula.launch.instance import allowed_cores
from tremula.launch.logger import Logger
from tremula.launch.options import OPTIONS, Settings
from tremula.launch.output_stream import OutputStream, standard_streams
from tremula.launch.reservation import Devices
from tremula.launch.run import GRACE_SECONDS, Run
from tremula.private_files import Untrusted, make_directory

USAGE_ERROR = 2


def main(words: Sequence[str] | None = None) -> int:
    """Run `poprun` and return its exit code."""
    out, err = standard_streams()
    try:
        return _main(list(sys.argv[1:] if words is None else words), out, err)
    except KeyboardInterrupt:
        return 130


def _main(words: list[str], out: OutputStream, err: OutputStream) -> int:
    settings, problems = parse(words)
    if settings.help:
        return _print(out, help_text.help_text())
    if settings.version or settings.version_format:
        return _print(out, help_text.version_text(settings.version_format))
    if settings.import_config:
        problems += config_file.import_into(settings, Path(settings.import_config))
    logger = Logger(err, settings.verbosity)
    try:
        found, more = plan(settings)
    except Error as error:
        found, more = None, [error.message]
    problems += more
    if not problems and settings.export_config:
        problems += config_file.export(settings, Path(settings.export_config))
    if problems or found is None:
        for problem in problems:
            logger.error(problem)
        logger.error("Nothing was started.")
        return USAGE_ERROR
    _remark(settings, found, logger)
    if settings.print_topology or settings.verbosity:
        _print(out, topology.table(found.layout))
    if not settings.command:
        return 0
    try:
        return _start(found, logger, out, err)
    except Error as error:
        logger.error(f"{error.message}\nNothing was started.")
        return 1


def _start(found: Plan, logger: Logger, out: OutputStream, err: OutputStream) -> int:
    settings = found.settings
    if settings.executable_cache_path:
        folder = Path(settings.executable_cache_path).expanduser()
        try:
            with contextlib.suppress(Untrusted):  # the instances say why they do not use it
                make_directory(folder)
        except OSError as problem:
            raise Error(f"--executable-cache-path: cannot create {folder}: {problem.strerror}.") from problem
    # mpirun is given the time to tell other hosts
    code = guard.divide(logger, grace=GRACE_SECONDS if found.mpirun is not None else 0)
    if code is not None:
        return code
    with Devices(found, logger) as devices:
        current = Run(found, devices, logger, out, err)
        _log_threads(found, logger)
        if found.mpirun is not None:
            from tremula.launch import mpi_run

            return mpi_run.run(current, found.mpirun)
        logger.info(f"Running command: {shlex.join(settings.command)}")
        logger.info(f"Starting {found.layout.num_instances} instance(s)")
        from tremula.launch import local_run

        return local_run.run(current)


def _log_threads(found: Plan, logger: Logger) -> None:
    """Log how the cores of a host are divided; the wrapper of each instance does the same."""
    each = found.layout.instances_per_host
    if each > 1 and "OMP_NUM_THREADS" not in os.environ:
        cores = len(allowed_cores())
        logger.info(
            f"{each} instances share {cores} core(s): {max(1, cores // each)} thread(s) each "
            "(set OMP_NUM_THREADS to override)"
        )


def _remark(settings: Settings, found: Plan, logger: Logger) -> None:
    """Warn about options without effect, and about other things before the run."""
    reasons: dict[str, list[str]] = {}
    for option in OPTIONS:
        if option.no_effect and option.name in settings.given:
            reasons.setdefault(option.no_effect, []).append(f"--{option.name}")
    for reason, names in reasons.items():
        logger.warn(f"{', '.join(names)}: no effect here, because {reason}.")
    if settings.vipu_partition and found.occupancy is None:
        logger.warn("--vipu-partition: no effect here, because no virtual IPUs are used.")
    if os.environ.get("POPLAR_TARGET_OPTIONS"):
        logger.warn(
            "POPLAR_TARGET_OPTIONS: no effect here, because virtual IPUs have no links; the instances receive it."
        )
    if "executable-cache-path" in settings.given and not settings.executable_cache_path:
        logger.warn("--executable-cache-path is empty: the instances get no folder for compiled programs.")
    if settings.host_subnet and len(found.layout.hosts) < 2:
        logger.debug("No hosts specified; ignoring host-subnet setting")
    if found.mpirun is None and found.asked.anything:
        logger.info("mpirun is not installed; poprun applies the options for it itself")
    if settings.only_output_from_instance is not None and settings.num_instances > 1:
        shown = plain(str(settings.only_output_from_instance))
        logger.warn(f"Only the output of instance {shown} is shown, unless another instance fails.")


def _print(out: OutputStream, text: str) -> int:
    out.write(f"{text}\n".encode(errors="backslashreplace"), out)
    return 0
