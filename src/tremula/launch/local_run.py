"""Runs the instances on this host, as processes of torch's elastic launcher.

If an instance fails, all instances are stopped; if it ends without an error, the others continue. Each instance has its
own session, so signals reach everything that it started.
"""

from __future__ import annotations

import os
import sys
import time

from tremula.distributed import elastic
from tremula.distributed.elastic import InstanceProcesses, OutputPipes
from tremula.distributed.rendezvous_server import RendezvousServer
from tremula.launch import environment, processes
from tremula.launch.independent_models import IndependentModelsWarning
from tremula.launch.output import Lines, Pump, Stream, Tail
from tremula.launch.run import (
    BROKEN_PIPE,
    GRACE_SECONDS,
    POLL_SECONDS,
    Run,
    SignalHandler,
    exit_code,
    report_failure,
)


def run(current: Run) -> int:
    """Start the instances and wait for them. Returns the exit code."""
    plan, logger = current.plan, current.logger
    if not plan.settings.debug:
        elastic.silence_logs()
    rendezvous = RendezvousServer(None, plan.layout.num_instances)
    pipes = OutputPipes(plan.layout.num_instances)
    try:
        instances = _prepare_instances(current, rendezvous, pipes)
        signals = SignalHandler(kill=instances.kill)
        processes.adopt_orphans()
        tails, streams = _streams(current, pipes)
        try:
            received = instances.launch()
        except OSError as problem:
            logger.error(f"The instances cannot be started: {problem.strerror}.")
            processes.end_descendants(grace=0)
            return 126
        if received is not None:
            signals.record(received)
        signals.install()
    finally:
        pipes.remove_names()
    pids = instances.pids()
    count = plan.layout.num_instances
    logger.info(f"Waiting for {count} instance(s) (PID {', '.join(str(pid) for pid in pids.values())})")
    pump = Pump(streams)
    pump.start()
    warning = IndependentModelsWarning(rendezvous, count, logger)
    failed, stopped = _supervise(current, instances, signals, warning)
    current.clear_up(pump, signals)
    warning.finish()
    signals.ignore()
    code = _conclude(current, signals, failed, stopped, tails)
    logger.info(f"{count} instance(s) terminated with exit code {code}")
    return code


def _prepare_instances(current: Run, rendezvous: RendezvousServer, pipes: OutputPipes) -> InstanceProcesses:
    plan, logger = current.plan, current.logger
    stores = rendezvous.variables()
    words: dict[int, tuple[str, ...]] = {}
    variables: dict[int, dict[str, str]] = {}
    for instance in plan.layout.instances:
        index = instance.index
        words[index] = tuple(current.wrapped(instance, parent=os.getpid(), stdin=index == 0)[1:])
        variables[index] = {
            **environment.variables(plan, instance, current.devices, stores),
            **environment.as_mpirun_sets(plan, instance),
            **plan.asked.variables,
        }
        if "PYTHONUNBUFFERED" not in os.environ:
            variables[index]["PYTHONUNBUFFERED"] = (
                "1"  # lines are seen when they are printed, as on a terminal
            )
        if plan.settings.debug:
            for name, value in variables[index].items():
                logger.debug(f"Instance {index}: {name}={value}")
    return InstanceProcesses(sys.executable, words, variables, pipes, GRACE_SECONDS)


def _streams(current: Run, pipes: OutputPipes) -> tuple[dict[int, Tail], list[tuple[int, Stream]]]:
    tails: dict[int, Tail] = {}
    streams: list[tuple[int, Stream]] = []
    for (index, name), reader in pipes.readers.items():
        tail = tails.setdefault(index, Tail())
        stream = current.out if name == "stdout" else current.err
        shown = current.shows(index, stdout=name == "stdout")
        streams.append((reader, Lines(f"[1,{index}]<{name}>:".encode(), stream, shown=shown, tail=tail)))
    return tails, streams


def _supervise(
    current: Run, instances: InstanceProcesses, signals: SignalHandler, warning: IndependentModelsWarning
) -> tuple[dict[int, int], int]:
    """Wait for the end. Returns the instances that failed first with their codes, and how many were still running."""
    pids = frozenset(instances.pids().values())
    while True:
        ended = instances.ended()
        failed = {rank: code for rank, code in ended.items() if code}
        running = len(pids) - len(ended)
        if signals.first is not None:
            current.logger.info(f"{signals.first.name} received: stopping all instances")
            instances.terminate()
            return failed, running
        if current.out.broken:
            instances.terminate()
            return {}, running
        if failed:
            warning.poll(now=True)
        # as soon as one has failed, this stops the others
        if instances.wait(0) is not None:
            return failed, running
        processes.reap_adopted(pids)
        warning.poll()
        time.sleep(POLL_SECONDS)


def _conclude(
    current: Run, signals: SignalHandler, failed: dict[int, int], stopped: int, tails: dict[int, Tail]
) -> int:
    """Report what failed, if anything, and return the exit code."""
    if signals.first is not None:
        current.logger.warn(f"{signals.first.name} received: all instances were stopped.")
        return 128 + int(signals.first)
    if current.out.broken:
        return BROKEN_PIPE
    if not failed:
        return 0
    for index, code in sorted(failed.items()):
        report_failure(current.logger, index, code, tails.get(index), stopped)
    return exit_code(failed[min(failed)])
