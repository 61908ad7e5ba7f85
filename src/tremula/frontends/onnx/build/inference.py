"""Types of the tensors of a graph that is being made: nodes are run on fake tensors, each once, when somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from tremula.errors import Error
from tremula.frontends.onnx.dtypes import element_type, type_of
from tremula.frontends.onnx.host_values import host
from tremula.frontends.onnx.interpreter import Interpreter, reads
from tremula.frontends.onnx.model import STANDARD, Graph, Node, node_of
from tremula.frontends.onnx.shapes import TensorType
from tremula.frontends.onnx.stored_tensors import stored

if TYPE_CHECKING:
    from tremula.frontends.onnx.build.graph import GraphMaker

#: initializers of so many elements at most may decide about shapes
_SMALL = 2**10
#: makes the interpreter record, also where a node has no inputs
_MARK = "\0"


class Inference:
    """The values of one graph so far: fake tensors, and real ones where a value is known."""

    def __init__(self, maker: GraphMaker, parent: Inference | None) -> None:
        self._maker = maker
        self._parent = parent
        self._mode: FakeTensorMode = FakeTensorMode() if parent is None else parent._mode
        self._values: dict[str, torch.Tensor] = {}
        #: why the type of a tensor is not known
        self._problems: dict[str, str] = {}
        self._inputs = self._initializers = self._nodes = 0

    def type_of(self, name: str) -> TensorType:
        """Raises Error: it cannot be told."""
        value = self.find(name)
        if value is None:
            why = self._problems.get(name)
            if why is None:
                raise Error(f"{name} is not an known tensor.")
            raise Error(f"the shape of {name} is not known: {why}")
        return TensorType(tuple(value.shape), value.dtype)

    def find(self, name: str) -> torch.Tensor | None:
        """The value of a tensor of this graph or one around it, as far as it is known."""
        self._catch_up()
        return self._known(name)

    def _known(self, name: str) -> torch.Tensor | None:
        found = self._values.get(name)
        if found is None and self._parent is not None and name not in self._problems:
            return self._parent.find(name)
        return found

    def write(self, graph: Any) -> None:
        """Write the types of outputs, and of tensors inside, into a message."""
        self._catch_up()
        outputs = {each.name for each in graph.output}
        for each in graph.output:
            if not each.HasField("type"):
                self._write(each, each.name)
        written = {each.name for each in graph.value_info} | outputs
        for node in graph.node:
            for name in node.output:
                if name and name in self._values and name not in written:
                    self._write(graph.value_info.add(name=name), name)

    def _write(self, message: Any, name: str) -> None:
        value = self._known(name)
        if value is None:
            return
        kind = message.type.tensor_type
        kind.elem_type = type_of(value.dtype).number
        kind.shape.SetInParent()
        for extent in value.shape:
            kind.shape.dim.add(dim_value=int(extent))

    def _catch_up(self) -> None:
        graph = self._maker.graph
        for each in graph.initializer[self._initializers :]:
            self._add_initializer(each)
        self._initializers = len(graph.initializer)
        for each in graph.input[self._inputs :]:
            if each.name not in self._values:
                self._add_input(each)
        self._inputs = len(graph.input)
        for each in graph.node[self._nodes :]:
            self._nodes += 1
            self._run(each)

    def _add_initializer(self, message: Any) -> None:
        found = stored(message, None, f"the initializer {message.name}")
        if found.elements <= _SMALL and not found.type.torch.is_floating_point:
            self._values[message.name] = found.tensor()
        else:
            self._values[message.name] = self._fake(found.shape, found.type.torch)

    def _add_input(self, message: Any) -> None:
        if not message.type.HasField("tensor_type"):
            around = None if self._parent is None else self._parent.find(message.name)
            if around is None:
                self._problems[message.name] = "it is an input without a type."
            else:
                self._values[message.name] = self._fake(tuple(around.shape), around.dtype)
            return
        kind = message.type.tensor_type
        open_ones = [each for each in kind.shape.dim if not each.HasField("dim_value")]
        if open_ones or not kind.HasField("shape"):
            self._problems[message.name] = "it is an input with open dimensions."
            return
        shape = tuple(int(each.dim_value) for each in kind.shape.dim)
        self._values[message.name] = self._fake(shape, element_type(kind.elem_type).torch)

    def _fake(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        with self._mode:
            return torch.empty(tuple(shape), dtype=dtype)

    def _run(self, message: Any) -> None:
        version = self._maker.opsets.get(message.domain or STANDARD, 1)
        try:
            node = node_of(message, {**self._maker.opsets, message.domain or STANDARD: version})
            self._infer(node)
        except Error as problem:
            for name in message.output:
                self._problems[name] = problem.message

    def _infer(self, node: Node) -> None:
        values: dict[str, torch.Tensor] = {_MARK: self._fake((), torch.float32)}
        for name in reads(node):
            value = self._known(name)
            if value is None:
                raise Error(f"that of {name}, which it is made from, is not known.")
            values[name] = value
        graph = Graph(node.type, (node,), {}, (), ())

        def watch(ran: Node, outputs: Sequence[torch.Tensor | None]) -> None:
            if ran is node:
                for name, tensor in zip(node.outputs, outputs, strict=False):
                    if name and tensor is not None:
                        self._values[name] = self._kept(tensor)

        interpreter = Interpreter(graph, self._maker.opsets)
        with self._mode, torch.no_grad():
            interpreter.run(values, [name for name in node.outputs if name], watch)

    def _kept(self, tensor: torch.Tensor) -> torch.Tensor:
        if isinstance(tensor, FakeTensor) or tensor.numel() <= _SMALL:
            return tensor
        with host():
            shape, dtype = tuple(tensor.shape), tensor.dtype
        return self._fake(shape, dtype)
