"""Instances on this host, started by torch's elastic launcher and watched by a loop of our own.

Their output comes through named pipes whose names are gone before they write anything. One that fails stops all; one
that ends well does not. Each is the head of a session of its own, so signals reach everything it started.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from torch.distributed.elastic.multiprocessing.api import (
    LogsDest,
    LogsSpecs,
    SignalException,
    SubprocessContext,
)

from tremula.launch import environment, failure, processes
from tremula.launch.independence import IndependenceWatch
from tremula.launch.interrupts import Interrupts
from tremula.launch.output import Lines, Pump, Stream, Tail
from tremula.launch.rendezvous import Rendezvous
from tremula.launch.supervision import BROKEN_PIPE, GRACE_SECONDS, POLL_SECONDS, Run

_PIPE_BYTES = 1 << 20


class Pipes(LogsSpecs):
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
        """The paths, as torch asks for them."""
        ranks = range(len(envs))
        return LogsDest(
            stdouts={rank: str(self._path(rank, "stdout")) for rank in ranks},
            stderrs={rank: str(self._path(rank, "stderr")) for rank in ranks},
            error_files=dict.fromkeys(ranks, os.devnull),
        )

    def remove_names(self) -> None:
        """Both ends are open: the names are of no more use."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _path(self, instance: int, name: str) -> Path:
        return self._folder / f"{instance}.{name}"


class Instances(SubprocessContext):
    """Torch's processes, with less patience for those that do not end when they are asked to."""

    def _close(self, death_sig: signal.Signals, timeout: int = 30) -> None:
        super()._close(death_sig, min(timeout, int(GRACE_SECONDS)))

    def ended(self) -> dict[int, int]:
        """Instances that have ended, each with its code."""
        codes = {rank: handler.proc.poll() for rank, handler in self.subprocess_handlers.items()}
        return {rank: code for rank, code in codes.items() if code is not None}

    def kill(self) -> None:
        """Kill all at once."""
        for pid in self.pids().values():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)


def run(current: Run) -> int:
    """Start the instances and wait for their end; gives back the exit code."""
    plan, voice = current.plan, current.voice
    if not plan.settings.debug:
        logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
        logging.getLogger(SubprocessContext.__module__).setLevel(logging.CRITICAL)
    rendezvous = Rendezvous("127.0.0.1", plan.layout.num_instances)
    pipes = Pipes(plan.layout.num_instances)
    try:
        instances = _prepared(current, rendezvous, pipes)
        interrupts = Interrupts(kill=instances.kill)
        processes.adopt_orphans()
        tails, streams = _streams(current, pipes)
        try:
            instances.start()
        except SignalException as caught:  # torch listens while it starts them
            interrupts.note(caught.sigval)
        except OSError as problem:
            voice.error(f"The instances cannot be started: {problem.strerror}.")
            processes.end_descendants(at_once=True)
            return 126
        interrupts.listen()
    finally:
        pipes.remove_names()
    pids = instances.pids()
    count = plan.layout.num_instances
    voice.info(f"Waiting for {count} instance(s) (PID {', '.join(str(pid) for pid in pids.values())})")
    pump = Pump(streams)
    pump.start()
    watch = IndependenceWatch(rendezvous, count, voice)
    failed, stopped = _supervise(current, instances, interrupts, watch)
    current.clear_up(pump, interrupts)
    watch.conclude()
    interrupts.over()
    code = _conclude(current, interrupts, failed, stopped, tails)
    voice.info(f"{count} instance(s) terminated with exit code {code}")
    return code


def _prepared(current: Run, rendezvous: Rendezvous, pipes: Pipes) -> Instances:
    plan, voice = current.plan, current.voice
    meeting = rendezvous.address, rendezvous.port
    words: dict[int, tuple[str, ...]] = {}
    variables: dict[int, dict[str, str]] = {}
    for instance in plan.layout.instances:
        index = instance.index
        words[index] = tuple(current.wrapped(instance, parent=os.getpid(), stdin=index == 0)[1:])
        variables[index] = {
            **environment.variables(plan, instance, current.devices, meeting),
            **environment.as_mpirun_sets(plan, instance),
            **plan.asked.variables,
        }
        if "PYTHONUNBUFFERED" not in os.environ:
            variables[index]["PYTHONUNBUFFERED"] = (
                "1"  # lines are seen when they are printed, as on a terminal
            )
        if plan.settings.debug:
            for name, value in variables[index].items():
                voice.debug(f"Instance {index}: {name}={value}")
    return Instances("poprun", sys.executable, words, variables, pipes)


def _streams(current: Run, pipes: Pipes) -> tuple[dict[int, Tail], list[tuple[int, Stream]]]:
    tails: dict[int, Tail] = {}
    streams: list[tuple[int, Stream]] = []
    for (index, name), reader in pipes.readers.items():
        tail = tails.setdefault(index, Tail())
        outlet = current.out if name == "stdout" else current.err
        shown = current.shows(index, stdout=name == "stdout")
        streams.append((reader, Lines(f"[1,{index}]<{name}>:".encode(), outlet, shown=shown, tail=tail)))
    return tails, streams


def _supervise(
    current: Run, instances: Instances, interrupts: Interrupts, watch: IndependenceWatch
) -> tuple[dict[int, int], int]:
    """Wait for the end; gives back the instances that failed first, each with its code, and how many still ran."""
    pids = frozenset(instances.pids().values())
    while True:
        ended = instances.ended()
        failed = {rank: code for rank, code in ended.items() if code}
        running = len(pids) - len(ended)
        if interrupts.first is not None:
            current.voice.info(f"{interrupts.first.name} received: stopping all instances")
            instances.close(signal.SIGTERM, int(GRACE_SECONDS))
            return failed, running
        if current.out.broken:
            instances.close(signal.SIGTERM, int(GRACE_SECONDS))
            return {}, running
        if failed:
            watch.look(now=True)
        # as soon as one has failed, this stops the others
        if instances.wait(0) is not None:
            return failed, running
        processes.reap_adopted(pids)
        watch.look()
        time.sleep(POLL_SECONDS)


def _conclude(
    current: Run, interrupts: Interrupts, failed: dict[int, int], stopped: int, tails: dict[int, Tail]
) -> int:
    """Say what went wrong, if something did, and which exit code that makes."""
    if interrupts.first is not None:
        current.voice.warn(f"{interrupts.first.name} received: all instances were stopped.")
        return 128 + int(interrupts.first)
    if current.out.broken:
        return BROKEN_PIPE
    if not failed:
        return 0
    for index, code in sorted(failed.items()):
        failure.tell(current.voice, index, code, tails.get(index), stopped)
    return failure.exit_code(failed[min(failed)])
