"""Data of steps: arrays by tensor (`PyStepIO`), or functions that give and take them (`PyStepIOCallback`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from tremula.errors import Error
from tremula.frontends.onnx.arrays import array_of, memory_of, tensor_of
from tremula.frontends.onnx.run.anchors import Turn, Turns
from tremula.frontends.onnx.run.device_types import device_type
from tremula.frontends.onnx.shapes import TensorType

Array = np.ndarray[Any, Any]


class IStepIO:
    """The source of the data of a step."""

    _inputs: dict[str, TensorType]
    _turns: Turns
    _asserts = True

    @property
    def given(self) -> list[Array]:
        """The input arrays of a step."""
        return []

    @property
    def returned(self) -> list[Array]:
        """The arrays that a step fills."""
        return []

    def enableRuntimeAsserts(self, enable: bool) -> None:
        """Check (or do not check) that arrays fit."""
        self._asserts = bool(enable)


class PyStepIO(IStepIO):
    """One array for all values of a tensor in a step."""

    def __init__(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        for name, array in inputs.items():
            if not isinstance(array, np.ndarray | np.generic):
                raise TypeError(
                    f"__init__(): incompatible constructor arguments: the input '{name}' is not an array."
                )
            if not np.asarray(array).flags["C_CONTIGUOUS"]:
                raise _not_contiguous("input", name)
        for name, array in outputs.items():
            if not array.flags["C_CONTIGUOUS"]:
                raise _not_contiguous("output", name)
        self._arrays = {name: np.asarray(array) for name, array in inputs.items()}
        self._returned = dict(outputs)
        self._given, self._taken = list(self._arrays.values()), list(self._returned.values())
        self._inputs: dict[str, TensorType] = {}
        self._sent: dict[str, torch.Tensor] = {}
        #: inputs whose values are converted in every step; the others share memory with their arrays
        self._converted: list[str] = []
        #: the arrays that are filled, as tensors on the same memory
        self._filled: dict[str, torch.Tensor] = {}

    @property
    def given(self) -> list[Array]:
        """The arrays of the inputs."""
        return self._given

    @property
    def returned(self) -> list[Array]:
        """The arrays of the anchored tensors."""
        return self._taken

    def begin(self, inputs: dict[str, TensorType], turns: Turns) -> None:
        """A step begins: all inputs must be there, and have as many elements as it takes."""
        if inputs is self._inputs and turns is self._turns:  # the arrays are those of the step before
            for name in self._converted:
                self._send(name, inputs[name])
            return
        self._turns = turns
        self._inputs, self._sent, self._converted = {}, {}, []
        for name, kind in inputs.items():
            array = self._arrays.get(name)
            if array is None:
                raise Error(
                    f"The PyStepIO has no array for the input tensor '{name}'; it has {', '.join(self._arrays)}."
                )
            elements = math.prod(kind.shape) * turns.count
            if array.size != elements and not (array.size * turns.replicas == elements):
                raise Error(
                    f"Unexpected number of elements for the input tensor '{name}': a step takes {elements} (the shape "
                    f"{list(kind.shape)}, {turns.count} times), and the array of shape {list(array.shape)} has "
                    f"{array.size}."
                )
            if not self._send(name, kind):
                self._converted.append(name)
        self._inputs = inputs

    def _send(self, name: str, kind: TensorType) -> bool:
        """Make the tensor of an input; whether it has the memory of the array."""
        array, turns = self._arrays[name], self._turns
        shares = array.flags.writeable and not any(np.may_share_memory(array, out) for out in self._taken)
        tensor = _checked(name, array, kind.dtype, memory_of(array) if shares else None)
        count = (
            turns.count
            if array.size == math.prod(kind.shape) * turns.count
            else turns.count // turns.replicas
        )
        self._sent[name] = tensor.reshape(count, *kind.shape)
        return shares and tensor.data_ptr() == array.ctypes.data

    def input(self, name: str, turn: Turn) -> torch.Tensor:
        """One value of an input."""
        turns = self._turns
        place = turn.batch * turns.accumulation + turn.accumulation
        values = self._sent[name]
        if values.shape[0] == turns.count:
            place = place * turns.replicas + turn.replica
        return values[place]

    def output(self, name: str, turn: Turn, place: int, value: torch.Tensor, *, add: bool) -> None:
        """Put a value into the array of its tensor."""
        values = self._filled.get(name)
        if values is None:
            values = self._fill(name, value)
        if values.dtype != value.dtype:
            _refuse_type(name, self._returned[name].dtype, array_of(value).dtype)
        count = value.numel()
        if (place + 1) * count > values.numel():
            shape = list(self._returned[name].shape)
            raise Error(f"The array for the anchored tensor '{name}' is too small: it has the shape {shape}.")
        part = values[place * count : (place + 1) * count]
        flat = value.detach().reshape(-1)
        if add:
            part += flat
        else:
            part.copy_(flat)

    def _fill(self, name: str, value: torch.Tensor) -> torch.Tensor:
        """The array of an anchored tensor, as a flat tensor on its memory."""
        array = self._returned.get(name)
        if array is None:
            raise Error(f"The PyStepIO has no array for the anchored tensor '{name}'.")
        wanted = array_of(value).dtype
        if array.dtype != wanted:
            _refuse_type(name, array.dtype, wanted)
        if not array.flags.writeable:
            raise ValueError(f"the array for the anchored tensor '{name}' is read-only.")
        self._filled[name] = memory_of(array).reshape(-1)
        return self._filled[name]


class PyStepIOCallback(IStepIO):
    """Functions that are called for every micro-batch of every tensor."""

    def __init__(
        self,
        input_callback: Callable[[str, bool], Array | None],
        input_complete_callback: Callable[[str], None],
        output_callback: Callable[[str], Array],
        output_complete_callback: Callable[[str], None],
    ) -> None:
        self._give, self._given = input_callback, input_complete_callback
        self._take, self._taken = output_callback, output_complete_callback

    def begin(self, inputs: dict[str, TensorType], turns: Turns) -> None:
        """A step begins."""
        self._inputs, self._turns = inputs, turns

    def input(self, name: str, turn: Turn) -> torch.Tensor:
        """Ask for one value of an input."""
        array = self._give(name, False)
        if array is None:
            raise Error(f"input_callback returned nothing for the tensor '{name}'.")
        array = np.asarray(array)
        kind = self._inputs[name]
        if not array.flags["C_CONTIGUOUS"]:
            raise Error(str(_not_contiguous("input", name)))
        if array.size != math.prod(kind.shape):
            raise Error(
                f"Unexpected number of elements for the input tensor '{name}': it has the shape {list(kind.shape)}, "
                f"and the array has {array.size}."
            )
        value = _checked(name, array, kind.dtype).reshape(kind.shape).clone()
        self._given(name)
        return value

    def output(self, name: str, turn: Turn, place: int, value: torch.Tensor, *, add: bool) -> None:
        """Hand over one value of an anchored tensor."""
        array = self._take(name)
        if not array.flags["C_CONTIGUOUS"]:
            raise Error(str(_not_contiguous("output", name)))
        found = array_of(value)
        if array.dtype != found.dtype:
            _refuse_type(name, array.dtype, found.dtype)
        if array.size != found.size:
            raise Error(
                f"The array for the anchored tensor '{name}' has {array.size} elements; the tensor has {found.size}."
            )
        target = array.reshape(-1)
        target[...] = target + found.reshape(-1) if add else found.reshape(-1)
        self._taken(name)


class PyWeightsIO:
    """Arrays that weights are read into, or written from."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        for name, array in weights.items():
            if not array.flags["C_CONTIGUOUS"]:
                raise _not_contiguous("weight", name)
        self.arrays = dict(weights)


def _not_contiguous(what: str, name: str) -> Exception:
    from ._exceptions import popart_exception

    return popart_exception(
        f"PyStepIO is unable to use the numpy {what} array for tensor '{name}' as it is not c-contiguous "
        "(numpy.ascontiguousarray makes a copy that is)."
    )


def _checked(name: str, array: Array, dtype: torch.dtype, shared: torch.Tensor | None = None) -> torch.Tensor:
    """An array as a tensor of the graph's type; the wide types may be given for the narrow ones. `shared` is the array
    as a tensor on the same memory, else the tensor is a copy.
    """
    tensor = tensor_of(array) if shared is None else shared
    if tensor.dtype == dtype or device_type(tensor.dtype) == device_type(dtype):
        return tensor.to(dtype)
    _refuse_type(name, array.dtype, dtype)
    return tensor


def _refuse_type(name: str, given: object, wanted: object) -> None:
    raise Error(
        f"Type discrepancy for tensor '{name}': the array has elements of {given}, the tensor of "
        f"{str(wanted).removeprefix('torch.')}."
    )


__all__ = ["IStepIO", "PyStepIO", "PyStepIOCallback", "PyWeightsIO"]
