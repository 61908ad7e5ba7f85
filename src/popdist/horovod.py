"""Horovod beside PopDist: programs that initialise both wait for the other instances once.

There is no package `horovod` here. TensorFlow programs use `tensorflow.python.ipu.horovod`, which has its functions;
PyTorch programs use `torch.distributed`, or `synchronize`, `allReduceSum`, `allReduceMean` and `broadcast` of popdist.
"""

from __future__ import annotations

import popdist

__all__ = ["init"]


def init() -> None:
    """The same as `popdist.init`."""
    popdist.init()
