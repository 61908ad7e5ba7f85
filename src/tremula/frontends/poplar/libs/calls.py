"""Library calls as programs, and kernels that compute them without warnings of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tremula.frontends.poplar.errors import ApplicationRuntimeError, PoplarError
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.library import (
    AcrossKernel,
    Arrays,
    Kernel,
    KernelMaker,
    LibraryCall,
    across_kernel,
    kernel,
)
from tremula.frontends.poplar.program.programs import RunLibrary, Sequence_
from tremula.frontends.poplar.types import Type
from tremula.program.work import Work

#: types as the chip model names them
_WORK_TYPES = {
    "BOOL": "bool",
    "CHAR": "int8",
    "SIGNED_CHAR": "int8",
    "UNSIGNED_CHAR": "uint8",
    "SHORT": "int16",
    "UNSIGNED_SHORT": "uint16",
    "INT": "int32",
    "UNSIGNED_INT": "uint32",
    "LONG": "int32",
    "UNSIGNED_LONG": "uint32",
    "LONGLONG": "int64",
    "UNSIGNED_LONGLONG": "int64",
    "HALF": "fp16",
    "FLOAT": "fp32",
}


def work_type(type: Type) -> str:
    """The chip model's name of an element type."""
    return _WORK_TYPES.get(type.name, "fp8" if type.size == 1 else "fp32")


def add_call(
    program: Sequence_,
    function: str,
    inputs: Sequence[View],
    outputs: Sequence[View],
    attributes: Mapping[str, Any] | None = None,
    works: Sequence[Work] = (),
    name: str = "",
) -> None:
    """Add a call of a library function to a program."""
    call = LibraryCall(function, tuple(inputs), tuple(outputs), dict(attributes or {}), tuple(works))
    made = RunLibrary(call, name)
    made.source = user_line()
    program.add(made)


#: what a kernel raises where its attributes or operands do not fit each other, as in a damaged executable
_UNFIT = (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError)


def _unfit(name: str, problem: Exception) -> PoplarError:
    return ApplicationRuntimeError(
        f"library function {name} cannot work with its operands or attributes: "
        f"{type(problem).__name__} {str(problem)[:200]}"
    )


def computing(name: str) -> Callable[[KernelMaker], KernelMaker]:
    """Register what makes a kernel that follows the device's arithmetic: no overflow or division is an error."""

    def register(maker: KernelMaker) -> KernelMaker:
        def quiet_maker(attributes: Mapping[str, Any]) -> Kernel:
            try:
                compute = maker(attributes)
            except _UNFIT as problem:
                raise _unfit(name, problem) from problem

            def quiet(inputs: Arrays, outputs: Arrays) -> None:
                try:
                    with np.errstate(all="ignore"):
                        compute(inputs, outputs)
                except _UNFIT as problem:
                    raise _unfit(name, problem) from problem

            return quiet

        kernel(name)(quiet_maker)
        return maker

    return register


def computing_across(
    name: str,
) -> Callable[[Callable[[Mapping[str, Any]], AcrossKernel]], Callable[[Mapping[str, Any]], AcrossKernel]]:
    """The same for a function in which replicas exchange data."""

    def register(
        maker: Callable[[Mapping[str, Any]], AcrossKernel],
    ) -> Callable[[Mapping[str, Any]], AcrossKernel]:
        def quiet_maker(attributes: Mapping[str, Any]) -> AcrossKernel:
            try:
                compute = maker(attributes)
            except _UNFIT as problem:
                raise _unfit(name, problem) from problem

            def quiet(inputs: Sequence[Arrays], outputs: Sequence[Arrays]) -> None:
                try:
                    with np.errstate(all="ignore"):
                        compute(inputs, outputs)
                except _UNFIT as problem:
                    raise _unfit(name, problem) from problem

            return quiet

        across_kernel(name)(quiet_maker)
        return maker

    return register
