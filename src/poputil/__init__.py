"""Tile mappings, splits of work, copies, broadcasts and names of vertex types, with the names of C++.

`docs/poplar-libs.md` lists the functions.
"""

from __future__ import annotations

from typing import NoReturn

from tremula.frontends.poplar.libs.errors import PoplibsError as poplibs_error

from . import graphfn
from ._mapping import *
from ._mapping import __all__ as _mapping
from ._tensors import *
from ._tensors import __all__ as _tensors


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"poputil has no {name!r}; docs/poplar-libs.md lists what is available")


__all__ = [*_mapping, *_tensors, "graphfn", "poplibs_error"]
