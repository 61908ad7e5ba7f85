"""Arguments that torch once took: `data_source` of samplers and `verbose` of learning-rate schedulers.

Until torch 2.2 `torch.utils.data.Sampler.__init__` took and ignored a `data_source`; now a subclass that passes one
fails with a TypeError. Until torch 2.6 schedulers took `verbose` as their last argument. Nothing short of changing
these classes helps such programs.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch.optim.lr_scheduler
import torch.utils.data

from tremula import log


def accept_data_source() -> bool:
    """Let `torch.utils.data.Sampler` accept and ignore one argument again, for the whole process.

    False when nothing was changed: the installed torch accepts the argument, or this was called before.
    """
    sampler = torch.utils.data.Sampler
    if "__init__" in vars(sampler):
        return False

    def initialise(self: object, data_source: object = None) -> None:
        return

    sampler.__init__ = initialise  # type: ignore[method-assign]
    return True


def accept_verbose() -> list[type]:
    """Let torch's schedulers accept and ignore `verbose` again; gives the classes that were changed."""
    changed = []
    for scheduler in [each for each in vars(torch.optim.lr_scheduler).values() if isinstance(each, type)]:
        if (
            issubclass(scheduler, torch.optim.lr_scheduler.LRScheduler)
            and "__init__" in vars(scheduler)
            and "verbose" not in inspect.signature(scheduler.__init__).parameters
        ):
            scheduler.__init__ = _with_verbose(scheduler.__init__)  # type: ignore[method-assign]
            changed.append(scheduler)
    return changed


def _with_verbose(original: Any) -> Any:
    """`original` with one more argument at its end, which old programs give by name or by position."""
    positions = len(inspect.signature(original).parameters)

    @functools.wraps(original)
    def initialise(self: Any, *args: Any, verbose: object = False, **named: Any) -> None:
        given = (self, *args)
        if verbose or any(given[positions:]):
            log.no_effect("verbose of a learning-rate scheduler", "torch no longer prints learning rates")
        original(*given[:positions], **named)

    initialise.__signature__ = _longer(inspect.signature(original))  # type: ignore[attr-defined]
    return initialise


def _longer(signature: inspect.Signature) -> inspect.Signature:
    verbose = inspect.Parameter("verbose", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False)
    return signature.replace(parameters=[*signature.parameters.values(), verbose])
