"""The log of a process: on stdout, and in a file of its own.

Lines have the original's form, so that scripts which read its logs read ours. Process 0 writes process.log, others
process_rank_<n>.log: processes never share a file.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Mapping
from pathlib import Path

from tqdm import tqdm

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
        handlers.append(logging.FileHandler(folder / name, encoding="utf-8"))
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
