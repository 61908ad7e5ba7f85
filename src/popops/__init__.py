"""Operations on tensors: element-wise functions, reductions, slices, sorting and more, with the names of C++.

`docs/poplar-libs.md` lists the functions. Every function adds programs to a sequence and computes when they run.
"""

from __future__ import annotations

from typing import NoReturn

from poplar import Graph
from tremula.frontends.poplar.libs.popops.operations import BinaryOpType, TernaryOpType, UnaryOpType

from . import embedding, expr, padding, rearrange
from ._control import *
from ._control import __all__ as _control
from ._elementwise import *
from ._elementwise import __all__ as _elementwise
from ._fills import *
from ._fills import __all__ as _fills
from ._gather import *
from ._gather import __all__ as _gather
from ._reduce import *
from ._reduce import __all__ as _reduce
from ._scaled import *
from ._scaled import __all__ as _scaled
from ._slices import *
from ._slices import __all__ as _slices
from ._tensors import *
from ._tensors import __all__ as _tensors


def addCodelets(graph: Graph) -> None:
    """Add the library's codelets to a graph. This does nothing, because functions need no codelets here."""


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"popops has no {name!r}; docs/poplar-libs.md lists what is available")


__all__ = [
    *_control, *_elementwise, *_fills, *_gather, *_reduce, *_scaled, *_slices, *_tensors,
    "BinaryOpType", "TernaryOpType", "UnaryOpType", "addCodelets", "embedding", "expr", "padding", "rearrange",
]  # fmt: skip
