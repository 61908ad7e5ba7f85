"""Starts the processes of instances with torch's elastic launcher.

Their output comes through named pipes, whose names are removed before an instance writes anything.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import signal
import tempfile
from pathlib import Path

from torch.distributed.elastic.multiprocessing.api import (
    LogsDest,
    LogsSpecs,
    SignalException,
    SubprocessContext,
)

_PIPE_BYTES = 1 << 20


class OutputPipes(LogsSpecs):
    """Named pipes as the files that instances write to, in a folder that only this user can enter."""

    def __init__(self, instances: int) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="poprun-"))
        self._instances = instances
        self.readers: dict[tuple[int, str], int] = {}
        for instance in range(instances):
            for name in ("stdout", "stderr"):
                path = self._path(instance, name)
                os.mkfifo(path, 0o600)
                reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                with contextlib.suppress(OSError, AttributeError):
                    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
                self.readers[instance, name] = reader

    @property
    def root_log_dir(self) -> str:
        """Where the pipes are."""
        return str(self._folder)

    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """The paths, in the form that torch wants."""
        ranks = range(len(envs))
        return LogsDest(
            stdouts={rank: str(self._path(rank, "stdout")) for rank in ranks},
            stderrs={rank: str(self._path(rank, "stderr")) for rank in ranks},
            error_files=dict.fromkeys(ranks, os.devnull),
        )

    def remove_names(self) -> None:
        """Remove the names; both ends of the pipes are open."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _path(self, instance: int, name: str) -> Path:
        return self._folder / f"{instance}.{name}"


class InstanceProcesses(SubprocessContext):
    """The processes of the instances; those that do not end within `grace_seconds` of a signal are killed."""

    def __init__(
        self,
        program: str,
        arguments: dict[int, tuple[str, ...]],
        variables: dict[int, dict[str, str]],
        pipes: OutputPipes,
        grace_seconds: float,
    ) -> None:
        super().__init__("poprun", program, arguments, variables, pipes)
        self._grace_seconds = int(grace_seconds)

    def launch(self) -> signal.Signals | None:
        """Start them; gives back the signal that came meanwhile, if one did.

        Raises OSError if one cannot be started.
        """
        try:
            self.start()
        except SignalException as caught:  # torch handles signals while it starts them
            return caught.sigval
        return None

    def terminate(self) -> None:
        """Ask all to end, and kill those that have not after the grace period."""
        self.close(signal.SIGTERM, self._grace_seconds)

    def _close(self, death_sig: signal.Signals, timeout: int = 30) -> None:
        super()._close(death_sig, min(timeout, self._grace_seconds))

    def ended(self) -> dict[int, int]:
        """Instances that have ended, each with its code."""
        codes = {rank: handler.proc.poll() for rank, handler in self.subprocess_handlers.items()}
        return {rank: code for rank, code in codes.items() if code is not None}

    def kill(self) -> None:
        """Kill all at once."""
        for pid in self.pids().values():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)


def silence_logs() -> None:
    """Show no log lines of torch's launcher."""
    for name in ("torch.distributed.elastic", SubprocessContext.__module__):
        logging.getLogger(name).setLevel(logging.CRITICAL)
