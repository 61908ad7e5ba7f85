"""One call of an operator, as its function sees it: attributes with their types, values of inputs, inner graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from tremula.errors import Error
from tremula.frontends.onnx.failing import KnownError
from tremula.frontends.onnx.host_values import host
from tremula.frontends.onnx.model import Graph, Node
from tremula.frontends.onnx.settings import Settings
from tremula.frontends.onnx.stored_tensors import StoredTensor

Tensor = torch.Tensor
#: runs an inner graph on tensors
RunGraph = Callable[[Graph, Sequence[Tensor]], list[Tensor]]


class Call:
    """A node that is being run."""

    def __init__(
        self,
        node: Node,
        inputs: Sequence[Tensor | None],
        settings: Settings,
        run_graph: RunGraph,
        recording: bool,
    ) -> None:
        self.node = node
        self.settings = settings
        self.version = node.version
        self.outputs = len(node.outputs)
        #: operators are run on fake tensors: a value that depends on inputs is not known
        self.recording = recording
        self.run_graph = run_graph
        self._inputs = inputs

    def wants(self, output: int) -> bool:
        """Whether anybody asks for this output."""
        return output < self.outputs and bool(self.node.outputs[output])

    def has(self, name: str) -> bool:
        return name in self.node.attributes

    def integer(self, name: str, default: int | None = None) -> int:
        return int(self._attribute(name, default, (int,)))

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self.integer(name, int(default)))

    def number(self, name: str, default: float | None = None) -> float:
        return float(self._attribute(name, default, (float, int)))

    def text(self, name: str, default: str | None = None) -> str:
        return str(self._attribute(name, default, (str,)))

    def texts(self, name: str, default: Sequence[str] | None = None) -> list[str]:
        return self._list(name, default, (str,))

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        return self._list(name, default, (int,))

    def numbers(self, name: str, default: Sequence[float] | None = None) -> list[float]:
        return [float(value) for value in self._list(name, default, (float, int))]

    def stored(self, name: str) -> Tensor:
        """The tensor in an attribute."""
        found: StoredTensor = self._attribute(name, None, (StoredTensor,))
        return found.tensor()

    def graph(self, name: str) -> Graph:
        found: Graph = self._attribute(name, None, (Graph,))
        return found

    def known(self, place: int) -> Tensor | None:
        """The value of an input if it is known before the graph runs, and nobody asks for its gradient."""
        tensor = self.given(place)
        if tensor is None or isinstance(tensor, FakeTensor) or tensor.requires_grad:
            return None
        return tensor

    def given(self, place: int) -> Tensor | None:
        """An input, or None if it is left out."""
        return self._inputs[place] if place < len(self._inputs) else None

    def values(self, place: int) -> list[int]:
        """The values of an input of integers that shapes depend on.

        Raises:
            Error: it is left out, or not known before the graph runs.
        """
        return [int(value) for value in self._numbers(place)]

    def reals(self, place: int) -> list[float]:
        """The values of an input of floating-point numbers that shapes depend on."""
        return [float(value) for value in self._numbers(place)]

    def scalar(self, place: int) -> float | int | bool | None:
        """The value of an input of one element, if it is known before the graph runs."""
        tensor = self.known(place)
        if tensor is None or tensor.numel() != 1:
            return None
        with host():
            value: float | int | bool = tensor.item()
        return value

    def bounds(self, place: int) -> tuple[int, int] | None:
        """The least and the largest value of an input of integers, if they are known before the graph runs."""
        tensor = self.known(place)
        if tensor is None or not tensor.numel():
            return None
        with host():
            wide = tensor.to(torch.int64)
            return int(wide.min()), int(wide.max())

    def value(self, place: int) -> int:
        values = self.values(place)
        if len(values) != 1:
            raise Error(f"input {place} must be one number; it has {len(values)}.")
        return values[0]

    def _numbers(self, place: int) -> list[Any]:
        tensor = self.given(place)
        if tensor is None:
            raise Error(f"input {place} is left out, but needed.")
        if isinstance(tensor, FakeTensor):
            raise KnownError(
                "shapes are fixed when a graph is compiled, and this value depends on the graph's inputs or weights: "
                f"input {place} ('{self.node.inputs[place]}') must be of type Constant"
            )
        with host():
            values: list[Any] = tensor.flatten().tolist()
        return values

    def _attribute(self, name: str, default: Any, kinds: tuple[type, ...]) -> Any:
        value = self.node.attributes.get(name, default)
        if value is None:
            raise Error(f"the attribute {name} is missing.")
        if not isinstance(value, kinds):
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise Error(f"the attribute {name} must be {wanted}, not {type(value).__name__}.")
        return value

    def _list(self, name: str, default: Sequence[Any] | None, kinds: tuple[type, ...]) -> list[Any]:
        value = self.node.attributes.get(name, default)
        if value is None:
            raise Error(f"the attribute {name} is missing.")
        if not isinstance(value, tuple | list) or not all(isinstance(each, kinds) for each in value):
            raise Error(f"the attribute {name} must be a list of {kinds[0].__name__}.")
        return list(value)
