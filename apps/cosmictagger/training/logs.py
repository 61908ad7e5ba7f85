"""The log of a process: on stdout, and in a file of its own.

Lines have the original's form, so that scripts which read its logs read ours. Process 0 writes process.log, others
process_rank_<n>.log: processes never share a file.
"""

from __future__ import annotations

import contextlib
import logging
import math
import sys
from collections.abc import Mapping
from pathlib import Path

from tqdm import tqdm
from tremula.atomic_files import cannot_write

_FORM = "%(asctime)s - %(levelname)s - %(message)s"
_LAST = 40
#: what the original's lines show, in that order
LOGGED = ("Average/Non_Bkg_Accuracy", "Average/mIoU", "loss")


class _Stream(logging.Handler):
    """Writes above a progress bar rather than through it."""

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        if tqdm._instances:
            tqdm.write(text, file=sys.stdout)
        else:
            sys.stdout.write(text + "\n")
        sys.stdout.flush()


class _File(logging.FileHandler):
    """Writes to a file, and stops with one line on stdout when that takes no more: a run does not end for its log."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")
        self._full = False

    def emit(self, record: logging.LogRecord) -> None:
        if not self._full:
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (overrides)
        problem = sys.exc_info()[1]
        if not isinstance(problem, OSError):
            super().handleError(record)
            return
        self._full = True
        sys.stdout.write(
            f"The log {cannot_write(self.baseFilename, problem)} The run continues without it.\n"
        )

    def close(self) -> None:
        with contextlib.suppress(OSError):  # what did not get to the disk before does not now
            super().close()


def open_log(folder: Path | None, rank: int) -> logging.Logger:
    """The logger of this process, writing to `folder` too if there is one."""
    logger = logging.getLogger(f"cosmictagger.rank_{rank}")
    close_log(logger)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    handlers: list[logging.Handler] = [_Stream()]
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        name = "process.log" if rank == 0 else f"process_rank_{rank}.log"
        handlers.append(_File(folder / name))
    for handler in handlers:
        handler.setFormatter(logging.Formatter(_FORM))
        logger.addHandler(handler)
    return logger


def close_log(logger: logging.Logger) -> None:
    """Finish its files."""
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()


def _measured(metrics: Mapping[str, float]) -> str:
    return ", ".join(f"{name}: {metrics[name]:.3}" for name in LOGGED if name in metrics)


def training_line(
    step: int, metrics: Mapping[str, float], images_per_second: float | None, fetch: float, update: float
) -> str:
    """The line of a training step. `update` is the seconds of the device's step on an IPU, else the whole step's."""
    speed = "" if images_per_second is None else f"{_two(images_per_second)} Img/s / "
    return f"train Step {step} metrics: {_measured(metrics)} ({speed}{_two(fetch)} IOs / {_two(update)} (Step)(s))"


def validation_line(step: int, metrics: Mapping[str, float], images_per_second: float) -> str:
    """The line of a validation."""
    return f"test Step {step} metrics: {_measured(metrics)} ({_two(images_per_second)} Img/s)"


def _two(value: float) -> str:
    """Two digits as the original writes them, without an exponent for large values."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2}"


def closing_lines(ends: list[float], images: int) -> list[str]:
    """How long the run took, and how fast it was without what happens once.

    Args:
        ends: when the run began, then when each call ended, in seconds.
        images: events of a call, in this process.
    """
    calls = len(ends) - 1
    lines = [f"Total time to batch_process: {ends[-1] - ends[0]:.4f}"]
    for left_out, words in ((1, "except first iteration"), (2, "except first two iterations")):
        if calls > left_out:
            lines.append(_closing(words, ends[-1] - ends[left_out], (calls - left_out) * images))
    if calls > _LAST:
        lines.append(_closing(f"last {_LAST} iterations", ends[-1] - ends[-1 - _LAST], _LAST * images))
    return lines


def _closing(words: str, seconds: float, images: int) -> str:
    rate = images / seconds if seconds > 0 else math.nan
    return f"Total time to batch process {words}: {seconds:.4f}, throughput: {rate:.4f}"
