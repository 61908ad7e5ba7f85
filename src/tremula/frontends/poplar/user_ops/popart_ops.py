"""Custom operators of PopART that a program has loaded as C++ libraries (`ctypes.cdll.LoadLibrary`).

Loading such a library runs its code: it registers its operators with libpopart, which is asked here for them.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.frontends.poplar.user_ops import libraries, tensors
from tremula.frontends.poplar.user_ops.tensors import TensorFacts

LIBRARY = "libpopart.so"
Handle = ctypes.c_void_p


class _AttributeStruct(ctypes.Structure):
    """`TremulaAttribute` of popart_calls.cpp."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_char),
        ("count", ctypes.c_long),
        ("values", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class GradientInput:
    """What an input of a gradient operator is: an input, an output, or the gradient of an output."""

    kind: int  #: one of the numbers below
    number: int


FROM_INPUT, FROM_OUTPUT = 0, 1
#: as the number of values of an attribute that is no list
_SINGLE = -1


class _Functions:
    """The functions of libpopart that are called here."""

    def __init__(self, library: ctypes.CDLL) -> None:
        int_, text, tensor = ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(tensors.TensorStruct)
        declare = functools.partial(libraries.declare, library)
        long, pointer = ctypes.c_long, ctypes.POINTER
        self.error = declare("tremula_popart_error", text)
        self.count = declare("tremula_popart_count", long)
        self.name = declare("tremula_popart_name", int_, long, pointer(text), pointer(text))
        self.free = declare("tremula_popart_free", None, Handle)
        attributes = pointer(_AttributeStruct)
        self.make = declare(
            "tremula_popart_make", Handle, text, text, int_, attributes, long, tensor, int_, int_
        )
        indices = pointer(int_)
        self.make_like = declare(
            "tremula_popart_make_like", Handle, Handle, indices, tensor, int_, indices, int_
        )
        self.inputs = declare("tremula_popart_inputs", int_, Handle)
        self.outputs = declare("tremula_popart_outputs", int_, Handle)
        self.output = declare(
            "tremula_popart_output", int_, Handle, int_, pointer(int_), pointer(ctypes.c_longlong), int_
        )
        self.gradients = declare("tremula_popart_gradients", int_, Handle)
        self.gradient = declare("tremula_popart_gradient", Handle, Handle, int_)
        self.gradient_input = declare("tremula_popart_gradient_input", int_, Handle, int_, pointer(int_))
        self.gradient_output = declare("tremula_popart_gradient_output", int_, Handle, int_)
        arrays = pointer(ctypes.c_void_p)
        self.run = declare("tremula_popart_run", int_, Handle, arrays, arrays)


@functools.cache
def _functions_of(address: int) -> _Functions:
    return _Functions(ctypes.CDLL(LIBRARY, handle=address))


def _functions() -> _Functions | None:
    """The functions of a loaded libpopart, if it is ours."""
    library = libraries.loaded(LIBRARY)
    if library is None or not hasattr(library, "tremula_popart_count"):
        return None
    return _functions_of(library._handle)


def registered() -> list[tuple[str, str]]:
    """Domain and name of each operator that loaded libraries have registered."""
    functions = _functions()
    if functions is None:
        return []
    found = []
    domain, name = ctypes.c_char_p(), ctypes.c_char_p()
    for number in range(functions.count()):
        functions.name(number, ctypes.byref(domain), ctypes.byref(name))
        found.append(((domain.value or b"").decode(), (name.value or b"").decode()))
    return found


class Operator:
    """An operator for inputs of fixed types; the graph that computes it is built at the first run."""

    def __init__(self, functions: _Functions, handle: int | None, name: str) -> None:
        self.name = name
        self._functions = functions
        if not handle:
            raise self._error()
        self._handle = Handle(handle)
        self._finalizer = weakref.finalize(self, functions.free, self._handle)
        self.outputs = [self._output(number) for number in range(functions.outputs(self._handle))]

    def _error(self) -> Error:
        text = (self._functions.error() or b"").decode(errors="replace")
        return Error(f"the custom op {self.name}: {text}", type="popart_exception")

    def _output(self, number: int) -> TensorFacts:
        kind, shape = ctypes.c_int(), (ctypes.c_longlong * tensors.MOST_DIMENSIONS)()
        rank = self._functions.output(
            self._handle, number, ctypes.byref(kind), shape, tensors.MOST_DIMENSIONS
        )
        if rank < 0:
            raise self._error()
        return TensorFacts.of_number(kind.value, shape[:rank])

    def run(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Compute it."""
        given = [tensors.for_device(array) for array in arrays]
        results: list[NDArray[Any]] = [np.empty(each.shape, each.dtype) for each in self.outputs]
        with libraries.LOCK:
            if self._functions.run(self._handle, tensors.pointers(given), tensors.pointers(results)):
                raise self._error()
        return results

    @functools.cached_property
    def gradients(self) -> list[Gradient]:
        """The operators that compute gradients of its inputs; none if it has no gradient."""
        count = self._functions.gradients(self._handle)
        if count < 0:
            raise self._error()
        return [Gradient(self, number) for number in range(count)]


class Gradient(Operator):
    """An operator that computes gradients of another one's inputs."""

    def __init__(self, forward: Operator, number: int) -> None:
        functions = forward._functions
        super().__init__(
            functions, functions.gradient(forward._handle, number), f"gradient of {forward.name}"
        )
        place = ctypes.c_int()
        self.takes = []
        for index in range(functions.inputs(self._handle)):
            kind = functions.gradient_input(self._handle, index, ctypes.byref(place))
            if kind < 0:
                raise self._error()
            self.takes.append(GradientInput(kind, place.value))
        #: for each output the input of the forward operator that it is the gradient of; -1: none
        self.gives = [functions.gradient_output(self._handle, index) for index in range(len(self.outputs))]


@dataclass(frozen=True, eq=False)
class Original:
    """An operator of a library's, with its parameters: others are made like it for inputs of fixed types."""

    domain: str
    name: str
    version: int
    #: names and values of the parameters, as its library writes them
    parameters: tuple[tuple[str, str], ...]
    address: int
    #: what keeps it in memory
    keeper: object

    def __str__(self) -> str:
        return f"{self.name} of domain {self.domain}"

    def operator(self, inputs: Mapping[int, TensorFacts], outputs: Sequence[int]) -> Operator:
        """An operator like it, for these inputs and outputs by index.

        Raises:
            Error: it does not take these inputs, or does not give these outputs.
        """
        functions = _functions()
        if functions is None:
            raise Error(f"libpopart.so, which the library of the custom op {self} needs, is not loaded")
        given, places = sorted(inputs), sorted(outputs)
        with libraries.LOCK:
            handle = functions.make_like(
                self.address,
                (ctypes.c_int * max(1, len(given)))(*given),
                tensors.structs([inputs[index] for index in given]),
                len(given),
                (ctypes.c_int * max(1, len(places)))(*places),
                len(places),
            )
        return Operator(functions, handle, str(self))


@dataclass(frozen=True)
class _Attribute:
    """An attribute with its type, as ONNX has it: 1, 1.0 and [1.0] are different."""

    name: str
    #: as `TremulaAttribute` names the type of the values
    kind: bytes
    values: tuple[Any, ...]
    single: bool

    @classmethod
    def of(cls, name: str, value: Any) -> _Attribute:
        """With the value that a program gives."""
        single = not isinstance(value, list | tuple)
        values = (value,) if single else tuple(value)
        if values and all(isinstance(each, str) for each in values):
            return cls(name, b"s", values, single)
        if any(isinstance(each, float) for each in values):
            return cls(name, b"f", values, single)
        return cls(name, b"i", values, single)

    def array(self) -> ctypes.Array[Any]:
        """The values in memory."""
        count = max(1, len(self.values))
        if self.kind == b"s":
            return (ctypes.c_char_p * count)(*[each.encode() for each in self.values])
        return ((ctypes.c_float if self.kind == b"f" else ctypes.c_int64) * count)(*self.values)


@functools.lru_cache(maxsize=256)
def _made(
    domain: str, name: str, facts: tuple[TensorFacts, ...], attributes: tuple[_Attribute, ...]
) -> Operator:
    functions = _functions()
    if functions is None:
        raise Error(f"no loaded library offers the custom op {name} of domain {domain}")
    given = (_AttributeStruct * max(1, len(attributes)))()
    arrays = [each.array() for each in attributes]
    for struct, each, array in zip(given, attributes, arrays, strict=False):
        struct.name, struct.kind = each.name.encode(), each.kind
        struct.count = _SINGLE if each.single else len(each.values)
        struct.values = ctypes.cast(array, ctypes.c_void_p)
    with libraries.LOCK:
        handle = functions.make(
            domain.encode(), name.encode(), 0, given, len(attributes), tensors.structs(facts), len(facts), 1
        )
    return Operator(functions, handle, f"{name} of domain {domain}")


def operator(domain: str, name: str, facts: Sequence[TensorFacts], attributes: Mapping[str, Any]) -> Operator:
    """The operator of this name for inputs of these types. The same one is given for the same question.

    Raises:
        Error: no loaded library has registered it, or it does not take these inputs.
    """
    given = tuple(_Attribute.of(key, value) for key, value in attributes.items())
    return _made(domain, name, tuple(facts), given)
