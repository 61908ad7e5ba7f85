"""Runs the instances with Open MPI's mpirun: on several hosts, or if options for mpirun were given.

mpirun tags the output and stops all instances when one fails. The launcher provides the store for their rendezvous,
assembles the output, and ends remaining processes on this host.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time

from tremula.distributed.rendezvous_server import RendezvousServer
from tremula.errors import Error
from tremula.invariants import present
from tremula.launch import environment, hosts, mpi_arguments, processes
from tremula.launch.independent_models import IndependentModelsWarning
from tremula.launch.mpi_output import Account, TaggedOutput
from tremula.launch.output import Pump
from tremula.launch.run import (
    BROKEN_PIPE,
    GRACE_SECONDS,
    POLL_SECONDS,
    WRAPPER,
    Run,
    SignalHandler,
    exit_code,
    report_failure,
)


def run(current: Run, mpirun: str) -> int:
    """Start mpirun and wait for it. Returns the exit code."""
    plan, logger = current.plan, current.logger
    rendezvous = RendezvousServer(_store_address(current), plan.layout.num_instances)
    words = _command(current, mpirun, rendezvous)
    logger.info(f"Running command: {words[0]} {' '.join(shlex.quote(word) for word in words[1:])}")
    processes.adopt_orphans()
    signals = SignalHandler(kill=lambda: None)
    signals.install()
    # orderly where it can be: mpirun tells the other hosts when the launcher is killed
    wrapper = [
        *(sys.executable, "-I", "-S", str(WRAPPER)),
        *(f"parent={os.getpid()}", f"death={int(signal.SIGTERM)}", "--"),
    ]
    try:
        process = subprocess.Popen(
            [*wrapper, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as problem:
        logger.error(f"mpirun cannot be started: {problem.strerror}.")
        return 126
    logger.info(f"Waiting for mpirun (PID {process.pid})")
    out, err = present(process.stdout, "mpirun's output"), present(process.stderr, "mpirun's errors")
    account = Account()
    pump = Pump(
        [
            (os.dup(pipe.fileno()), TaggedOutput(stream, account, current.shows))
            for pipe, stream in ((out, current.out), (err, current.err))
        ]
    )
    pump.start()
    warning = IndependentModelsWarning(rendezvous, plan.layout.num_instances, logger)
    code = _supervise(current, process, signals, warning)
    current.clear_up(pump, signals)
    out.close()
    err.close()
    warning.finish()
    signals.ignore()
    return _conclude(current, process, code, signals, account)


def _store_address(current: Run) -> str | None:
    """The address of the store for all hosts, or None if this is the only host. Raises Error if there is none."""
    plan = current.plan
    away = [host.name for number, host in enumerate(plan.layout.hosts) if number != plan.here]
    if not away:
        return None
    found = hosts.address_towards(away, plan.network)
    if found is None:
        where = (
            f"in {plan.network} (--host-subnet)"
            if plan.network is not None
            else "that other hosts could reach"
        )
        raise Error(
            f"This machine has no address {where}; its addresses are {', '.join(hosts.own_addresses())}."
        )
    current.logger.debug(f"Default network/RNIC for host communication: {found}")
    return found


def _command(current: Run, mpirun: str, rendezvous: RendezvousServer) -> list[str]:
    plan = current.plan
    stores = rendezvous.variables()
    instances = plan.layout.instances
    return mpi_arguments.arguments(
        mpirun,
        plan.layout,
        plan.settings,
        plan.asked,
        [environment.variables(plan, instance, current.devices, stores) for instance in instances],
        # 1: whoever started it, which on other hosts is not a process of ours
        [current.wrapped(instance, parent=1, stdin=instance.index == 0) for instance in instances],
    )


def _supervise(
    current: Run, process: subprocess.Popen[bytes], signals: SignalHandler, warning: IndependentModelsWarning
) -> int:
    stop_requested_at: float | None = None
    while True:
        code = process.poll()
        if code is not None:
            return code
        if stop_requested_at is None and (signals.first is not None or current.out.broken):
            stop_requested_at = time.monotonic()
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        if stop_requested_at is not None and time.monotonic() - stop_requested_at > GRACE_SECONDS:
            process.kill()
        processes.reap_adopted((process.pid,))
        warning.poll()
        time.sleep(POLL_SECONDS)


def _conclude(
    current: Run, process: subprocess.Popen[bytes], code: int, signals: SignalHandler, account: Account
) -> int:
    logger = current.logger
    handed_on = exit_code(code)
    logger.info(f"mpirun (PID {process.pid}) terminated with exit code {handed_on}")
    if signals.first is not None:
        logger.warn(f"{signals.first.name} received: all instances were stopped.")
        return 128 + int(signals.first)
    if current.out.broken:
        return BROKEN_PIPE
    if code and account.failed is not None:
        as_process = 128 - code if code > 128 else code
        report_failure(logger, account.failed, as_process, account.tails.get(account.failed))
    elif code:
        logger.error(f"mpirun failed with exit code {handed_on}. See its messages above.")
    return handed_on
