"""The table of op kinds: what each computes on torch tensors, what of its inputs it changes or shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import torch

from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op

Tensor = torch.Tensor
#: inputs in the order of their indices -> one output, or several in order
Function: TypeAlias = Callable[..., Any]
#: attributes of an op -> what computes it, made once
Make: TypeAlias = Callable[[Op], Function]


class Alias(Enum):
    """How the outputs lie in memory."""

    #: in memory of their own
    FRESH = "fresh"
    #: perhaps in that of the first input, although the op is not in place
    MAYBE = "maybe"
    #: in that of the first input
    VIEW = "view"


@dataclass(frozen=True)
class Kernel:
    """How one kind of op is computed."""

    make: Make
    #: as PopART names the type of the op; by default the kind
    op_type: str
    alias: Alias = Alias.FRESH
    #: indices of the inputs that it writes to
    modifies: tuple[int, ...] = ()
    #: whether the first output is the first of these inputs
    returns_modified: bool = True
    #: element types of the outputs: a name, or "=n" for that of input n; empty: as torch says
    dtypes: tuple[str, ...] = ()
    #: shapes and types of the outputs, where they cannot be had from running it without values
    infer: Callable[[Op], Mapping[int, TensorInfo]] | None = None
    #: whether it is there for what it does, and not for its outputs
    effect: bool = False


_kernels: dict[str, Kernel] = {}


def kernel(
    kind: str,
    *,
    op_type: str = "",
    alias: Alias = Alias.FRESH,
    modifies: Sequence[int] = (),
    returns_modified: bool = True,
    dtypes: Sequence[str] = (),
    infer: Callable[[Op], Mapping[int, TensorInfo]] | None = None,
    effect: bool = False,
) -> Callable[[Make], Make]:
    """Register what makes the function of a kind of op."""

    def register(make: Make) -> Make:
        found = Kernel(
            make, op_type or kind, alias, tuple(modifies), returns_modified, tuple(dtypes), infer, effect
        )
        _kernels[kind] = found
        return make

    return register


def by_the_program(op: Op) -> Function:
    """For ops that reach outside of their graph: the compiled graph has steps of its own for them."""

    def run(*_tensors: Any) -> Any:
        raise NotImplementedError(f"{op.kind} is run by the program itself")

    return run


def find(kind: str) -> Kernel:
    """The kernel of a kind of op.

    Raises:
        Error: there is no such kind.
    """
    _load()
    if kind not in _kernels:
        raise graph_error(f"Ops of the kind {kind} are not supported.")
    return _kernels[kind]


def known() -> list[str]:
    """All kinds of ops."""
    _load()
    return sorted(_kernels)


def _load() -> None:
    from tremula.frontends.popxl.ops import families as _families  # noqa: F401
