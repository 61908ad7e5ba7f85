"""What functions of poplin and popnn share: checks of operands, names, calls that are added to a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import add_call
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.programs import Program, Sequence_
from tremula.frontends.poplar.types import FLOAT, HALF
from tremula.program.work import Work

Array = NDArray[Any]


def refuse(where: str, what: str) -> PoplibsError:
    """The error of a library function."""
    return PoplibsError(f"{where}: {what} ({user_line()})")


def need_floats(where: str, *views: View) -> None:
    """Raise an error unless all elements are half or float."""
    for view in views:
        if view.type not in (HALF, FLOAT):
            raise refuse(where, f"elements have to be half or float, not {view.type}")


def need_shape(where: str, what: str, view: View, shape: Sequence[int]) -> None:
    """Raise an error unless a view has a shape."""
    if tuple(view.shape) != tuple(shape):
        raise refuse(where, f"the {what} has shape {list(view.shape)} instead of {list(shape)}")


def need_rank(where: str, what: str, view: View, rank: int) -> None:
    """Raise an error unless a view has so many dimensions."""
    if view.rank != rank:
        raise refuse(where, f"the {what} needs {rank} dimensions, not shape {list(view.shape)}")


def joined(debug: str, part: str) -> str:
    """A name below another one."""
    return f"{debug}/{part}" if debug else part


def call(
    prog: Program,
    function: str,
    inputs: Sequence[View],
    outputs: Sequence[View],
    works: Sequence[Work] = (),
    debug: str = "",
    **attributes: Any,
) -> None:
    """Append a call of a library function to a sequence; attributes are given by name."""
    if not isinstance(prog, Sequence_):
        raise refuse(function, f"a Sequence to add to is needed, not {type(prog).__name__}")
    name = joined(debug, function.replace(".", "::"))
    add_call(prog, function, inputs, outputs, attributes, works, name)


def single(array: Array) -> Array:
    """An array in at least single precision: sums of halves are made in it."""
    return array.astype(np.float32) if array.dtype == np.float16 else array
