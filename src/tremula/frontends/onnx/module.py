"""An ONNX graph as a torch module: its weights are parameters, its scopes are submodules, its forward interprets it.

So everything that takes a torch model takes an ONNX graph: capture, execution, estimates, splits over IPUs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor

from tremula.frontends.onnx.interpreter import Interpreter, Running, reads
from tremula.frontends.onnx.model import Node, OnnxModel
from tremula.frontends.onnx.placing import available_memory, begin, is_kept, node_marks
from tremula.frontends.onnx.settings import Settings
from tremula.frontends.onnx.shapes import constant_initializers
from tremula.frontends.torch.capture.context import annotated, current
from tremula.program.op import Placement

#: the two statistics of batch norms, which are state and not trained
_STATISTICS = {"BatchNormalization": (3, 4)}


class Scope(nn.Module):
    """A part of the graph that has a name: calling it runs its nodes."""

    def forward(self, run: Callable[[], None]) -> None:
        run()


class OnnxModule(nn.Module):
    """A graph whose forward takes its inputs in order and returns its outputs in order.

    Parameters and buffers have the names of their initializers, dots and all.
    """

    def __init__(
        self,
        model: OnnxModel,
        settings: Settings | None = None,
        *,
        values: bool = True,
        outputs: Sequence[str] | None = None,
        places: Mapping[Node, Placement] | None = None,
    ) -> None:
        """Without `values` the weights are on the meta device, and their files are not read. With `places` a capture
        follows them and the marks for recomputation.
        """
        super().__init__()
        self._places = places
        self._interpreter = Interpreter(model.graph, model.opsets, settings, functions=model.functions)
        self.input_names = [each.name for each in model.graph.inputs]
        self.output_names = list(outputs or (each.name for each in model.graph.outputs))
        needed = self._interpreter.needed(self.output_names)
        read = {name for node in needed for name in reads(node)} | set(self.output_names)
        constants = constant_initializers(self._interpreter)
        statistics = {
            node.inputs[place]
            for node in needed
            for place in _STATISTICS.get(node.type, ())
            if place < len(node.inputs)
        }
        for name, stored in model.graph.initializers.items():
            if name in constants or name not in read:
                continue
            tensor = (
                stored.tensor()
                if values
                else torch.empty(stored.shape, dtype=stored.type.torch, device="meta")
            )
            # names of initializers may have dots, which register_parameter refuses
            if tensor.is_floating_point() and name not in statistics:
                self._parameters[name] = nn.Parameter(tensor)
            else:
                self._buffers[name] = tensor
        self._declared = {name: stored.type.torch for name, stored in model.graph.initializers.items()}
        self._steps = _Steps(self, needed).steps

    @property
    def interpreter(self) -> Interpreter:
        return self._interpreter

    def forward(self, *inputs: Tensor) -> Any:
        """The outputs, in order."""
        state = {**self._parameters, **self._buffers}
        values = {name: tensor for name, tensor in state.items() if tensor is not None}
        values |= dict(zip(self.input_names, inputs, strict=True))
        running = self._in_precision(values).begin(values, self.output_names)
        if self._places is not None:
            running.before = self._begin
        self._run(running, self._steps)
        results = running.results()
        return [results[name] for name in self.output_names]

    def _begin(self, node: Node, _inputs: Sequence[Tensor | None]) -> None:
        """A node runs, perhaps one inside of another."""
        capture = current()
        if capture is not None and self._places is not None:
            begin(capture, node, self._places)

    def _in_precision(self, values: dict[str, Tensor]) -> Interpreter:
        """The interpreter, in the floating types that the weights have now, and in the mode of the module."""
        retyped = {
            declared: values[name].dtype
            for name, declared in self._declared.items()
            if name in values and declared.is_floating_point and values[name].dtype != declared
        }
        settings = replace(self._interpreter.settings, training=self.training, retyped=retyped)
        return self._interpreter.with_settings(settings)

    def _run(self, running: Running, steps: list[Any]) -> None:
        for step in steps:
            if isinstance(step, Node):
                with recorded(step, self._places):
                    running.execute(step)
                    if self._places is not None:
                        _mark(running, step)
            else:
                scope, inside = step
                scope(lambda inside=inside: self._run(running, inside))


class _Steps:
    """Nodes in order, those of one scope together in a submodule of the tree of scopes."""

    def __init__(self, root: nn.Module, nodes: Sequence[Node]) -> None:
        scoped = any(node.scope for node in nodes)
        self._root = root
        paths = [node.scope if scoped else (_word(node, number),) for number, node in enumerate(nodes)]
        self.steps = self._grouped(root, list(zip(paths, nodes, strict=True)), 0)

    def _grouped(self, module: nn.Module, nodes: list[tuple[tuple[str, ...], Node]], depth: int) -> list[Any]:
        steps: list[Any] = []
        place = 0
        while place < len(nodes):
            path, node = nodes[place]
            if len(path) <= depth:
                steps.append(node)
                place += 1
                continue
            end = place
            while end < len(nodes) and nodes[end][0][depth : depth + 1] == path[depth : depth + 1]:
                end += 1
            scope = self._child(module, path[depth])
            steps.append((scope, self._grouped(scope, nodes[place:end], depth + 1)))
            place = end
        return steps

    @staticmethod
    def _child(module: nn.Module, name: str) -> Scope:
        found = module._modules.get(name)
        if not isinstance(found, Scope):
            found = Scope()
            module._modules[name] = found
        return found


def _word(node: Node, number: int) -> str:
    """What a node is called where a graph has no scopes: its name, or its type and number."""
    word = (node.name or f"{node.type}_{number}").replace(".", "_").replace("/", "_")
    return word or f"node_{number}"


@contextlib.contextmanager
def recorded(node: Node, places: Mapping[Node, Placement] | None) -> Iterator[None]:
    """While a node is recorded, its ops come from the line that made the node, and run where it runs."""
    capture = current()
    if capture is None:
        yield
        return
    capture.sources.append(node.source)
    try:
        with contextlib.nullcontext() if places is None else node_marks(capture, node, places):
            yield
    finally:
        capture.sources.pop()


def _mark(running: Running, node: Node) -> None:
    """Mark the results of a node as the user marked the node: kept, and made with a share of the memory."""
    share = available_memory(node)
    marks: list[dict[str, object]] = [{"kind": "available_memory", "proportion": share}] if share else []
    if is_kept(node):
        marks.append({"kind": "recomputation_checkpoint"})
    for name in node.outputs if marks else ():
        for mark in marks:
            tensor = running.tensor(name)
            if isinstance(tensor, FakeTensor):
                running.put(name, annotated(tensor, **mark))
