"""The two processes of a launcher: the visible one, which the user started, and the worker, which starts the instances.

On Linux, if either process is killed, the other one cleans up. Each process adopts its descendants. If the visible
process ends, the system signals the worker, which stops everything that it started, and then exits. If the worker is
killed, the visible process does the same. Signals and job control reach the visible process, which forwards them. Its
exit code is that of the worker.

The worker has its own session and name, so that killing the process group or killing by name hits only one of the two.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

from tremula.launch import processes
from tremula.launch.instance import end_with_parent
from tremula.launch.logger import Logger

HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_KILLED = 128 + signal.SIGKILL
_NAME = "tremula-launch"

_Handler = Callable[[int, FrameType | None], None]


def divide(logger: Logger, grace: float) -> int | None:
    """Fork this process, while it has a single thread.

    Returns None in the worker, at once, and the exit code of the worker in the visible process. If one of them is
    killed, the remaining processes are asked to end, and killed after `grace` seconds.
    """
    if sys.platform != "linux":
        return None  # nothing tells a process there that its parent has ended
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    visible = os.getpid()
    processes.adopt_orphans()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (*HANDED_ON, signal.SIGTSTP))
    try:
        worker = os.fork()
        if worker:
            _hand_signals_on(worker)
        else:
            _become_worker(visible, grace)
    except OSError:
        return None  # no instance will start either, and that is reported
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return _await(worker, logger, grace) if worker else None


def _become_worker(visible: int, grace: float) -> None:
    os.setsid()
    processes.rename(_NAME)
    processes.adopt_orphans()

    def look(_number: int, _frame: FrameType | None) -> None:
        if os.getppid() != visible:
            processes.end_descendants(grace=grace)
            os._exit(_KILLED)

    signal.signal(signal.SIGCONT, look)
    # this signal also wakes a worker that was stopped
    end_with_parent(visible, signal.SIGCONT)


def _hand_signals_on(worker: int) -> None:
    def hand_on(number: int, _frame: FrameType | None) -> None:
        os.kill(worker, number)

    def stop(_number: int, _frame: FrameType | None) -> None:
        os.kill(worker, signal.SIGSTOP)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # comes back when the user lets it go on
        signal.signal(signal.SIGTSTP, stop)
        os.kill(worker, signal.SIGCONT)

    for number in HANDED_ON:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, hand_on)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if signal.getsignal(signal.SIGTSTP) != signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, stop)


def _await(worker: int, logger: Logger, grace: float) -> int:
    """Wait for the worker. If a forwarded signal ended it, end this process with the same signal."""
    os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT)
    for number in (*HANDED_ON, signal.SIGTSTP):  # its number may be another process's soon
        signal.signal(number, signal.SIG_IGN)
    code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    if code >= 0:
        return code
    processes.end_descendants(grace=grace)
    if -code in HANDED_ON:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    logger.error(
        f"{signal.Signals(-code).name} ended the launcher's worker process; all instances were stopped."
    )
    return 128 - code
