"""Training models that have nothing to do with those of the other instances, told to the launcher.

N instances that train a model each look like data parallelism and are none. That happens in two ways: the options of
a model say that it is not distributed, or it is wrapped and never called, because the program goes on with the plain
module. The second is known for certain when the program ends, and nearly so when a conversion (`model.to(...)`) has
returned the plain module and the wrapped one is not called soon after.
"""

from __future__ import annotations

import atexit
import sys
import threading

from tremula import log
from tremula.distributed import launched

#: how long a program may take from a conversion to the first call of the wrapped model
_PATIENCE_SECONDS = 20.0

_wrapped: list[str] = []
_joined = False


def wrapped(model: str, processes: int, replicas: int) -> None:
    """A training model was wrapped.

    Args:
        model: name of its class.
        processes: how many train it together, by its options.
        replicas: of this process, by its options.
    """
    if launched.instances() <= 1:
        return
    if processes == 1:
        _tell(model)
        return
    if processes * replicas != launched.total_replicas():
        log.warn_once(
            f"replicas {processes} {replicas}",
            f"The run was started with {launched.total_replicas()} replicas in {launched.instances()} instances, but "
            f"the options of {model} make {processes * replicas} ({processes} processes of {replicas}). "
            "popdist.poptorch.Options() takes the launcher's numbers.",
        )
    if not _wrapped:
        atexit.register(_tell_if_alone)
    _wrapped.append(model)


def converted() -> None:
    """A wrapped training model was asked for a conversion, which returns the plain module."""
    if launched.instances() > 1 and not _joined and _wrapped:
        timer = threading.Timer(_PATIENCE_SECONDS, _tell_if_alone)
        timer.daemon = True
        timer.start()


def joined() -> None:
    """A training model was compiled together with the other instances."""
    global _joined
    _joined = True


def _tell_if_alone() -> None:
    failed = getattr(sys, "last_value", None) is not None  # then it may not have come that far
    if not _joined and not failed:
        _tell(_wrapped[0])


def _tell(model: str) -> None:
    # here, for it loads torch's distributed package, and most programs do without
    from tremula.distributed.meeting import leave_note

    leave_note("independent", model)
