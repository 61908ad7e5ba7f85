"""Horovod beside PopDist: it is not needed here, and not there."""

from __future__ import annotations

from typing import Any, NoReturn

from tremula.errors import Error

__all__ = ["init"]


def init(*_args: Any, **_kwargs: Any) -> NoReturn:
    """Not here: raises Error."""
    raise Error(
        "popdist.horovod.init: there is no Horovod here. popdist.init() is enough; popdist.synchronize, allReduceSum, "
        "allReduceMean and broadcast do what programs use Horovod for, and so does torch.distributed.",
        type="popdist_error",
    )
