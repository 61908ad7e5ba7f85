"""One backward graph under construction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tremula.frontends.popxl.info import TensorInfo, TensorKind
from tremula.frontends.popxl.model import Graph, Op, Tensor

if TYPE_CHECKING:
    from tremula.frontends.popxl.autodiff.transform import GradInfo


@dataclass
class Backward:
    """A backward graph, what it reads of the forward graph, and the gradients that are known so far."""

    forward: Graph
    graph: Graph
    #: gives the backward graph of a graph that is called
    of_called: Callable[[Graph], GradInfo]
    #: what it reads: tensors of the forward graph, and whether their gradients are meant
    expected: list[tuple[Tensor, bool]] = field(default_factory=list)
    _values: dict[Tensor, Tensor] = field(default_factory=dict)
    _parts: dict[Tensor, list[tuple[Tensor, Op | None]]] = field(default_factory=dict)

    def gradient_input(self, tensor: Tensor) -> Tensor:
        """An input for the gradient of `tensor`."""
        info = TensorInfo(tensor.type.dtype, tensor.type.shape, tensor.type.meta_shape)
        found = self.graph.add_input(self.graph.unique(f"Gradient___{tensor.name}"), info)
        self.expected.append((tensor, True))
        self._parts.setdefault(tensor, []).append((found, tensor.producer))
        return found

    def value(self, tensor: Tensor) -> Tensor:
        """A tensor of the forward graph, in the backward graph."""
        if tensor not in self._values:
            identifier = self.graph.unique(tensor.name)
            if tensor.kind is TensorKind.CONST:
                found = self.graph.add_tensor(identifier, tensor.type, TensorKind.CONST)
                found.data = tensor.data
            else:
                found = self.graph.add_input(identifier, tensor.type)
                self.expected.append((tensor, False))
            self._values[tensor] = found
        return self._values[tensor]

    def add(self, tensor: Tensor, gradient: Tensor, op: Op | None) -> None:
        """Count `gradient` among the parts of that of `tensor`, which come from the backward pass of `op`."""
        self._parts.setdefault(tensor, []).append((gradient, op))

    def gradient(self, tensor: Tensor) -> Tensor | None:
        """The whole gradient of `tensor`; None if nothing came."""
        parts = self._parts.get(tensor)
        if not parts:
            return None
        if len(parts) > 1:
            settings = (parts[-1][1] or parts[0][1]).settings if (parts[-1][1] or parts[0][1]) else None  # type: ignore[union-attr]
            inputs = {index: part for index, (part, _) in enumerate(parts)}
            summed = self.graph.add_op("Sum", inputs, {0: f"Gradient___{tensor.name}"}, {}, settings)
            parts[:] = [(summed.outputs[0], parts[-1][1])]
        return parts[0][0]

    def op(
        self,
        forward: Op,
        kind: str,
        inputs: Mapping[int, Tensor],
        names: Mapping[int, str],
        attributes: Mapping[str, Any] | None = None,
        infos: Mapping[int, TensorInfo] | None = None,
    ) -> Op:
        """An op of the backward pass of `forward`, placed where that is."""
        return self.graph.add_op(kind, inputs, names, attributes, forward.settings, infos)

    def part(
        self, forward: Op, index: int, kind: str, inputs: list[Tensor], attributes: Mapping[str, Any]
    ) -> Tensor:
        """An op that gives the gradient of the input at `index` of `forward`."""
        name = f"Gradient___{forward.inputs[index].name}"
        op = self.op(forward, kind, dict(enumerate(inputs)), {0: name}, attributes)
        return op.outputs[0]
