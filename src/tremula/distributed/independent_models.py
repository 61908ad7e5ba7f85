"""Detects training models that have no connection to those of the other instances, and reports them to the launcher.

N instances that train a model each look like data parallelism but are not. There are two ways to get there: the options
of a model are not distributed, or the model is wrapped and never called, because the program goes on with the plain
module. The second case is certain when the program ends, and likely when a conversion (`model.to(...)`) returned the
plain module and the wrapped one is not called soon after.
"""

from __future__ import annotations

import atexit
import sys
import threading

from tremula import log
from tremula.distributed import launch_environment, protocol

#: how long a program may take from a conversion to the first call of the wrapped model
_FIRST_CALL_SECONDS = 20.0

_models: list[tuple[str, str]] = []
_distributed = False


def add_model(model: str, processes: int, replicas: int, advice: str = "") -> None:
    """A training model was wrapped; `advice` is the line of code that makes its options those of the run."""
    if launch_environment.instances() <= 1:
        return
    if processes == 1:
        report(model, advice)
        return
    total, instances = launch_environment.total_replicas(), launch_environment.instances()
    if processes * replicas != total:
        log.warn_once(
            f"replicas {processes} {replicas}",
            f"The run was started with {total} replicas in {instances} instances, but "
            f"the options of {model} make {processes * replicas} ({processes} processes of {replicas}). "
            f"Take the launcher's numbers{f': {advice}' if advice else ''}.",
        )
    if not _models:
        atexit.register(_report_if_independent)
    _models.append((model, advice))


def add_conversion() -> None:
    """A wrapped training model was asked for a conversion, which returns the plain module."""
    if launch_environment.instances() > 1 and not _distributed and _models:
        timer = threading.Timer(_FIRST_CALL_SECONDS, _report_if_independent)
        timer.daemon = True
        timer.start()


def add_distributed_compilation() -> None:
    """A training model was compiled together with the other instances."""
    global _distributed
    _distributed = True


def _report_if_independent() -> None:
    failed = getattr(sys, "last_value", None) is not None  # then it may have stopped before the first call
    if not _distributed and not failed:
        report(*_models[0])


def report(model: str, advice: str, reason: str = "") -> None:
    """Tell the launcher that this instance trains a model alone.

    Args:
        model: what it trains.
        advice: the line of code that connects it to the others.
        reason: what the instance does, in place of what is said of wrapped models.
    """
    # imported here because it loads torch's distributed package, which most programs do not need
    from tremula.distributed.rendezvous import write_note

    if advice:
        write_note(protocol.NOTE_ADVICE, advice)
    if reason:
        write_note(protocol.NOTE_REASON, reason)
    write_note(protocol.NOTE_INDEPENDENT, model)
