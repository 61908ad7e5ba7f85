"""Operators that functions of a C++ library build (`Build`, `Build_grad`) or compute on the host (`Callback`).

TensorFlow programs name the library and the function. Loading the library runs its code.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.frontends.poplar.user_ops import libraries, tensors
from tremula.frontends.poplar.user_ops.tensors import TensorFacts

LIBRARY = "libtremula_user_ops.so"
#: what `output` gives for an output that is missing, as gradients may be
_MISSING = -2
#: what `metadata` gives for a library of another level
_WRONG_LEVEL = -2


class WrongLevel(Error):
    """A library was compiled for another level of the interface."""


class _Functions:
    """The functions of the library of ours that are called here."""

    def __init__(self, library: ctypes.CDLL) -> None:
        declare = functools.partial(libraries.declare, library)
        int_, text, handle, pointer = ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER
        arrays = pointer(ctypes.c_void_p)
        self.error = declare("tremula_user_op_error", text)
        self.free = declare("tremula_user_op_free", None, handle)
        types = pointer(tensors.TensorStruct)
        self.make = declare(
            "tremula_user_op_make", handle, text, text, text, types, int_, int_, int_, int_, text, text
        )
        self.outputs = declare("tremula_user_op_outputs", int_, handle)
        lengths = pointer(ctypes.c_longlong)
        self.output = declare("tremula_user_op_output", int_, handle, int_, pointer(int_), lengths, int_)
        self.run = declare("tremula_user_op_run", int_, handle, arrays, arrays)
        self.metadata = declare("tremula_user_op_metadata", int_, text, text, int_)
        sizes = pointer(ctypes.c_uint32)
        self.run_on_host = declare(
            "tremula_host_op_run", int_, text, text, arrays, sizes, int_, arrays, int_, text, text
        )


@functools.cache
def _functions() -> _Functions:
    return _Functions(libraries.needed(LIBRARY))


@dataclass(frozen=True)
class Builder:
    """A function that builds an operator, with what it is given besides tensors."""

    library: str
    function: str
    codelets: str = ""
    attributes: str = ""
    name: str = ""
    #: of a gradient: how many gradients and outputs of the forward operator come before its inputs
    gradients: int = -1
    forward_outputs: int = 0
    #: the input of the forward operator that a gradient is wanted of, where they are computed one by one
    gradient_index: int = 0


class BuiltOperator:
    """An operator for inputs of fixed types. State that it keeps in variables lives as long as this."""

    def __init__(self, builder: Builder, facts: Sequence[TensorFacts]) -> None:
        self._builder = builder
        functions = self._functions = _functions()
        with libraries.LOCK:
            handle = functions.make(
                *(each.encode() for each in (builder.library, builder.function, builder.codelets)),
                tensors.structs(facts),
                len(facts),
                builder.gradients,
                builder.forward_outputs,
                builder.gradient_index,
                *(each.encode() for each in (builder.attributes, builder.name)),
            )
        if not handle:
            raise self._error()
        self._handle = ctypes.c_void_p(handle)
        self._finalizer = weakref.finalize(self, functions.free, self._handle)
        self.outputs = [self._output(number) for number in range(functions.outputs(self._handle))]

    def _error(self) -> Error:
        return _error(self._functions, self._builder.function, self._builder.library)

    def _output(self, number: int) -> TensorFacts | None:
        kind, shape = ctypes.c_int(), (ctypes.c_longlong * tensors.MOST_DIMENSIONS)()
        rank = self._functions.output(
            self._handle, number, ctypes.byref(kind), shape, tensors.MOST_DIMENSIONS
        )
        if rank == _MISSING:
            return None
        if rank < 0:
            raise self._error()
        return TensorFacts.of_number(kind.value, shape[:rank])

    def run(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any] | None]:
        """Compute it; None stands for an output that is missing."""
        given = [tensors.for_device(array) for array in arrays]
        results = [None if each is None else np.empty(each.shape, each.dtype) for each in self.outputs]
        places = tensors.pointers([np.empty(0) if each is None else each for each in results])
        with libraries.LOCK:
            if self._functions.run(self._handle, tensors.pointers(given), places):
                raise self._error()
        return list(results)


class BuilderCache:
    """The operators that one use of a builder has made, by the types of its inputs."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._made: dict[tuple[TensorFacts, ...], BuiltOperator] = {}

    def run(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any] | None]:
        """Compute the operator for these arrays."""
        facts = tuple(TensorFacts.of(tensors.for_device(array)) for array in arrays)
        found = self._made.get(facts)
        if found is None:
            found = self._made[facts] = BuiltOperator(self._builder, facts)
        return found.run(arrays)


def check(library: str, function: str, inputs: int) -> None:
    """Load a library and ask for what it says of an operator.

    Raises:
        WrongLevel: it is made for another level of the interface. Error: it cannot be loaded.
    """
    functions = _functions()
    found = functions.metadata(library.encode(), function.encode(), inputs)
    if found == _WRONG_LEVEL:
        raise WrongLevel(_error(functions, function, library).message)
    if found < 0:
        raise _error(functions, function, library)


def run_on_host(
    library: str,
    function: str,
    arrays: Sequence[NDArray[Any]],
    outputs: Sequence[TensorFacts],
    attributes: str = "",
    name: str = "",
) -> list[NDArray[Any]]:
    """Call a function that computes on the host.

    Raises:
        Error: it cannot be loaded or called, or it throws.
    """
    functions = _functions()
    given = [tensors.for_device(array) for array in arrays]
    results: list[NDArray[Any]] = [np.empty(each.shape, each.dtype) for each in outputs]
    sizes = (ctypes.c_uint32 * max(1, len(given)))(*[each.size for each in given])
    failed = functions.run_on_host(
        *(each.encode() for each in (library, function)),
        tensors.pointers(given),
        sizes,
        len(given),
        tensors.pointers(results),
        len(results),
        *(each.encode() for each in (attributes, name)),
    )
    if failed:
        raise _error(functions, function, library)
    return results


def _error(functions: _Functions, function: str, library: str) -> Error:
    text = (functions.error() or b"").decode(errors="replace")
    return Error(f"{function} of {library}: {text}")
