"""Notices that an optimizer which belongs to a wrapped training model is stepped on the host.

The device updates the weights of such a model; a host-side `step()` works on gradients that nobody computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from tremula.program.source import user_line

#: called with the user's line as text
OnHostStep = Callable[[str], None]


def adopt(optimizer: torch.optim.Optimizer, on_host_step: OnHostStep) -> RemovableHandle:
    """Calls `on_host_step` the first time that `optimizer.step()` is called on the host.

    The handle ends the watch; the step itself still runs. A learning rate scheduler's own `step()` and
    `zero_grad()` are not noticed.
    """
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
    """Tells torch's learning rate schedulers that an update took place, on the device.

    Without it their first `step()` warns that `optimizer.step()` was never called.
    """
    optimizer._opt_called = True  # type: ignore[attr-defined]
