"""Calls of library functions: named, with plain attributes, so that an executable can be saved without code.

A library function is executed as a whole on NumPy arrays (`kernels`), and modelled as a whole by the work that it is
for the chip (`works`), or by vertices that the function has really made beside it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tremula.frontends.poplar.graph.view import View
from tremula.program.work import Work

Arrays = Sequence[NDArray[Any]]
#: computes one call for one replica: reads the inputs, writes the outputs in place
Kernel = Callable[[Arrays, Arrays], None]
#: computes one call for all replicas together: a list of inputs and of outputs for each replica
AcrossKernel = Callable[[Sequence[Arrays], Sequence[Arrays]], None]
#: makes the kernel of a call from its attributes; what can be prepared once is prepared here
KernelMaker = Callable[[Mapping[str, Any]], Kernel]
AcrossKernelMaker = Callable[[Mapping[str, Any]], AcrossKernel]


@dataclass(eq=False)
class LibraryCall:
    """One call of a library function.

    `attributes` hold numbers, strings, booleans, None, and lists and dictionaries of them. Arrays that kernels get have
    the views' shapes; half is in the host's storage type. An output that is an input as well is updated in place: then
    both arrays are the same memory.
    """

    function: str
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    works: tuple[Work, ...] = ()
    #: bytes on each tile for what the real function keeps beside its operands
    bytes_per_tile: int = 0


_LIBRARIES = "tremula.frontends.poplar.libs"
_KERNELS: dict[str, KernelMaker] = {}
_ACROSS: dict[str, AcrossKernelMaker] = {}


def kernel(name: str) -> Callable[[KernelMaker], KernelMaker]:
    """Register what makes the kernel of the library function `name`."""

    def register(maker: KernelMaker) -> KernelMaker:
        _KERNELS[name] = maker
        return maker

    return register


def across_kernel(name: str) -> Callable[[AcrossKernelMaker], AcrossKernelMaker]:
    """Register what makes the kernel of a function in which replicas exchange data."""

    def register(maker: AcrossKernelMaker) -> AcrossKernelMaker:
        _ACROSS[name] = maker
        return maker

    return register


def kernel_maker(name: str) -> KernelMaker | None:
    """What makes the kernel of a function, or None if it is unknown or works across replicas."""
    return _KERNELS.get(name)


def across_kernel_maker(name: str) -> AcrossKernelMaker | None:
    """What makes the kernel of a function across replicas, or None."""
    return _ACROSS.get(name)


def import_library(name: str) -> bool:
    """Import the library that a name belongs to, if it is one of ours; whether it is."""
    library = name.partition(".")[0]
    package = importlib.import_module(_LIBRARIES)
    if library not in {each.name for each in pkgutil.iter_modules(package.__path__) if each.ispkg}:
        return False
    inner = importlib.import_module(f"{_LIBRARIES}.{library}")
    for each in pkgutil.walk_packages(inner.__path__, f"{inner.__name__}."):
        importlib.import_module(each.name)
    return True
