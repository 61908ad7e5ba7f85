"""Notices that an optimizer of a wrapped training model, whose weights the device updates, is stepped on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from tremula.program.source import user_line

#: called with the user's line as text
OnHostStep = Callable[[str], None]


def watch_host_steps(optimizer: torch.optim.Optimizer, on_host_step: OnHostStep) -> RemovableHandle:
    """Call `on_host_step` the first time that `optimizer.step()` is called on the host; the handle ends the watch."""
    reported = False

    def before_step(optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        nonlocal reported
        if not reported:
            reported = True
            on_host_step(str(user_line() or "an unknown line"))

    return optimizer.register_step_pre_hook(before_step)


def host_step_message(line: str) -> str:
    """What to tell the user about a host-side step at `line`."""
    return (
        f"{line}: optimizer.step() was called on the host, but this optimizer belongs to a wrapped training "
        "model: the device updates its weights each time the wrapped model is called. Remove the call; to "
        "apply changed values, such as a learning rate, call setOptimizer(optimizer) on the wrapped model."
    )


def mark_stepped(optimizer: torch.optim.Optimizer) -> None:
    """Tell torch's learning rate schedulers that an update took place; else their first `step()` warns."""
    optimizer._opt_called = True  # type: ignore[attr-defined]
