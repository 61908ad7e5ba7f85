"""Programs written for older torch releases: the argument that `Sampler` used to take.

Until torch 2.2 `torch.utils.data.Sampler.__init__` took (and ignored) a `data_source`; now a subclass that
passes one fails with a TypeError. Nothing short of changing that class helps such programs, so it is done
only on demand, with TREMULA_LEGACY_TORCH=1 in the environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch.utils.data

ENVIRONMENT_VARIABLE = "TREMULA_LEGACY_TORCH"


def legacy_torch_requested(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the user asked for the old torch interfaces."""
    return environ.get(ENVIRONMENT_VARIABLE, "0") not in ("", "0")


def enable_legacy_sampler() -> bool:
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
