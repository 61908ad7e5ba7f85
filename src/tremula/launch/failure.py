"""Why a run failed, as the user reads it: which instance, how it ended, and what it said last."""

from __future__ import annotations

import signal

from tremula.formatting import plain
from tremula.launch.logger import Logger
from tremula.launch.output import Tail


def exit_code(code: int) -> int:
    """The code to hand on for the end of a process: 128 and the signal, for one that a signal ended."""
    return 128 - code if code < 0 else code


def ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"failed with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    aside = " (the system does that when memory runs out)" if name == "SIGKILL" else ""
    return f"was ended by {name}{aside}"


def report(logger: Logger, instance: int, code: int, tail: Tail | None, stopped: int = 0) -> None:
    """Say which instance failed and how, show its last lines, and how many others were stopped for it."""
    aside = f"; {stopped} other(s) stopped because of it" if stopped else ""
    lines = tail.lines() if tail is not None else []
    text = f"Instance {instance} {ending(code)}{aside}."
    if not lines:
        logger.error(f"{text} It had written nothing.")
        return
    shown = "\n".join(f"    | {plain(line, 500, lines=False)}" for line in lines)
    logger.error(f"{text} Its last lines:\n{shown}")
