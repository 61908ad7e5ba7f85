"""Runs ONNX graphs on torch: for real, with gradients, or on fake tensors while torch records.

In a recording a value that depends on neither inputs nor weights is a real tensor, and operators on such values alone
are computed there and then; so shapes, which ONNX computes in the graph, are known. Where a real tensor meets a fake
one it becomes a constant of the recorded graph.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.failing import explained, unknown_operators
from tremula.frontends.onnx.functions import bound
from tremula.frontends.onnx.host_values import host
from tremula.frontends.onnx.model import Function, Graph, Node
from tremula.frontends.onnx.ops.table import Rule, find
from tremula.frontends.onnx.settings import Settings

#: larger values are not computed before the graph runs; fewer elements than these cannot make as many
_MOST_FOLDED = 2**20
_FEW = 2**10
#: nodes of a recording, loops unrolled; nodes with the bodies of functions in the places of their calls
_MOST_NODES = 1_000_000
_DEEPEST = 32
#: operators that are run for what they do, even if nothing reads their results
_ACTING = ("PrintTensor",)
#: told of each node that has run and of its outputs
Watch = Callable[[Node, Sequence["Tensor | None"]], None]
#: shown each node and its inputs before it runs
Before = Callable[[Node, Sequence["Tensor | None"]], None]
Functions = Mapping[tuple[str, str], Function]


class Interpreter:
    """A graph whose operators are all known."""

    def __init__(
        self,
        graph: Graph,
        opsets: Mapping[str, int] | None = None,
        settings: Settings | None = None,
        *,
        functions: Functions | None = None,
    ) -> None:
        """`opsets` are those of the model; nodes have their versions from there already.

        Raises:
            Error: operators that are not known; all of them are named.
        """
        self.graph = graph
        self.opsets = dict(opsets or {})
        self.settings = settings or Settings()
        self._rules: dict[Node, Rule | Graph] = {}
        missing: dict[tuple[str, str, int], Node] = {}
        self._plan(graph, functions or {}, missing, ())
        if missing:
            raise unknown_operators(missing)

    def run(
        self,
        values: Mapping[str, Tensor],
        wanted: Iterable[str] | None = None,
        watch: Watch | None = None,
        *,
        fresh: Collection[str] = (),
        before: Before | None = None,
    ) -> dict[str, Tensor]:
        """The tensors `wanted` (by default the graph's outputs), computed from `values`.

        `values` holds the inputs, and the weights by the names of their initializers; initializers that are not in it
        are constants. Tensors in `fresh` are never the same objects as what they are made from, so that they have
        gradients of their own. `before` sees each node and its inputs, and may refuse it.
        """
        running = self.begin(values, wanted, watch)
        running.fresh, running.before = fresh, before
        for node in running.nodes:
            running.execute(node)
        return running.results()

    def begin(
        self, values: Mapping[str, Tensor], wanted: Iterable[str] | None = None, watch: Watch | None = None
    ) -> Running:
        """A run whose nodes the caller executes one by one, in the order of `Running.nodes`."""
        names = [each.name for each in self.graph.outputs] if wanted is None else list(wanted)
        return Running(self, values, names, watch)

    def with_settings(self, settings: Settings) -> Interpreter:
        """The same graph under other settings."""
        if settings == self.settings:
            return self
        other = copy.copy(self)
        other.settings = settings
        return other

    def rule(self, node: Node) -> Rule | Graph:
        """What computes a node: a rule of the table, or the body of a function of the model."""
        return self._rules[node]

    def needed(self, wanted: Iterable[str]) -> list[Node]:
        """The nodes that the tensors `wanted` depend on, in order, and those that are run for what they do."""
        names = set(wanted)
        found = []
        for node in reversed(self.graph.nodes):
            if names.intersection(node.outputs) or not any(node.outputs) or node.type in _ACTING:
                found.append(node)
                names.update(reads(node))
        return found[::-1]

    def value_inputs(self) -> set[str]:
        """Tensors whose values must be known before the graph runs."""
        found: set[str] = set()
        for node, rule in self._rules.items():
            if isinstance(rule, Rule):
                found.update(
                    node.inputs[place]
                    for place in rule.static
                    if place < len(node.inputs) and node.inputs[place]
                )
        return found

    def _plan(
        self,
        graph: Graph,
        functions: Functions,
        missing: dict[tuple[str, str, int], Node],
        inside: tuple[tuple[str, str], ...],
    ) -> None:
        if len(inside) > _DEEPEST:
            raise Error(f"functions call each other more than {_DEEPEST} deep.")
        for node in graph.nodes:
            if len(self._rules) > _MOST_NODES:
                raise Error(
                    f"the model has more than {_MOST_NODES:,} nodes, those of its functions included."
                )
            key = (node.domain, node.type)
            rule = find(*key, node.version)
            if key in functions and (rule is None or key not in inside):
                if key in inside:
                    raise Error(f"the function {node.type} calls itself.")
                body = bound(functions[key], node)
                self._rules[node] = body
                self._plan(body, functions, missing, (*inside, key))
            elif rule is not None:
                self._rules[node] = rule
            else:
                missing.setdefault((*key, node.version), node)
            for inner in node.graphs:
                self._plan(inner, functions, missing, inside)


class Running:
    """One run of a graph. Tensors are dropped after their last use."""

    def __init__(
        self,
        interpreter: Interpreter,
        values: Mapping[str, Tensor],
        wanted: Sequence[str],
        watch: Watch | None,
    ) -> None:
        self._interpreter = interpreter
        self._settings = interpreter.settings
        self._watch = watch
        self._wanted = wanted
        self._executed = 0
        #: tensors that must not be the same objects as what they are made from
        self.fresh: Collection[str] = ()
        self.before: Before | None = None
        self.recording = any(isinstance(value, FakeTensor) for value in values.values())
        self.nodes = interpreter.needed(wanted)
        self._uses = Counter(name for node in self.nodes for name in set(reads(node)))
        self._uses.update(wanted)
        graph = interpreter.graph
        self._values = _Scope(graph)
        self._values.tensors.update(values)
        missing = [each.name for each in graph.inputs if each.name not in values and self._uses[each.name]]
        if missing:
            raise Error(f"the graph's input {missing[0]} is not given.")

    def execute(self, node: Node) -> None:
        """Run one node."""
        self._execute(node, self._values)
        for name in set(reads(node)):
            self._uses[name] -= 1
            if not self._uses[name]:
                self._values.drop(name)

    def results(self) -> dict[str, Tensor]:
        """The tensors that were asked for."""
        found = {}
        for name in self._wanted:
            value = self._values.get(name)
            if value is None:
                raise Error(f"nothing makes the tensor {name}.")
            # an output that is a constant is a tensor of the recording all the same
            found[name] = self._lift(value) if self.recording else value
        return found

    def tensor(self, name: str) -> Tensor | None:
        """A tensor that is still held."""
        return self._values.get(name)

    def put(self, name: str, tensor: Tensor) -> None:
        """From now on `name` is `tensor`."""
        self._values.tensors[name] = tensor

    def _execute(self, node: Node, scope: _Scope) -> None:
        self._executed += 1
        if self.recording and self._executed > _MOST_NODES:
            raise Error(f"the graph has more than {_MOST_NODES:,} nodes when its loops are unrolled.")
        inputs = [scope.get(name) if name else None for name in node.inputs]
        try:
            if self.before is not None:
                self.before(node, inputs)
            outputs = self._compute(node, inputs, scope)
        except Exception as problem:
            raise explained(problem, node, inputs) from problem
        if len(outputs) < sum(1 for name in node.outputs if name):
            raise explained(
                Error(f"it has {len(node.outputs)} outputs in the graph, but gives {len(outputs)}."),
                node,
                inputs,
            )
        if self.fresh and any(name in self.fresh for name in node.outputs):
            outputs = [
                _fresh(each, inputs) if name in self.fresh else each
                for name, each in itertools.zip_longest(node.outputs, outputs)
            ]
        for name, tensor in zip(node.outputs, outputs, strict=False):
            if name and tensor is not None:
                scope.tensors[name] = tensor
        if self._watch is not None:
            self._watch(node, outputs)

    def _compute(self, node: Node, inputs: list[Tensor | None], scope: _Scope) -> Sequence[Tensor | None]:
        rule = self._interpreter.rule(node)
        if isinstance(rule, Graph):
            return self._run_graph(rule, inputs, None)
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]

        def call(recording: bool) -> Call:
            return Call(
                node,
                inputs,
                self._settings,
                lambda graph, given: self._run_graph(graph, given, scope),
                recording,
            )

        if not self.recording:
            return _listed(rule.function(call(False), *inputs))
        fake = any(isinstance(each, FakeTensor) for i, each in enumerate(inputs) if i not in rule.static)
        if not fake and rule.folds and not any(node.graphs) and self._is_small(rule, call(True), inputs):
            with host():
                return _listed(rule.function(call(False), *inputs))
        # what torch functions mean to the users of another front end is no matter here
        with torch._C.DisableTorchFunction():
            lifted = [
                each if each is None or i in rule.static else self._lift(each)
                for i, each in enumerate(inputs)
            ]
            return _listed(rule.function(call(True), *lifted))

    def _is_small(self, rule: Rule, call: Call, inputs: Sequence[Tensor | None]) -> bool:
        """Whether what an operator makes of known values is worth having before the graph runs."""
        if not rule.grows and sum(each.numel() for each in inputs if each is not None) <= _FEW:
            return True
        with host(), FakeTensorMode(allow_non_fake_inputs=True):
            outputs = _listed(rule.function(call, *inputs))
        return all(each is None or each.numel() <= _MOST_FOLDED for each in outputs)

    def _run_graph(self, graph: Graph, given: Sequence[Tensor | None], outer: _Scope | None) -> list[Tensor]:
        scope = _Scope(graph, outer)
        for value, tensor in zip(graph.inputs, given, strict=False):
            if tensor is not None:
                scope.tensors[value.name] = tensor
        for node in graph.nodes:
            self._execute(node, scope)
        results = []
        for each in graph.outputs:
            tensor = scope.get(each.name)
            if tensor is None:
                raise Error(f"nothing makes {each.name}, an output of the inner graph {graph.name}.")
            results.append(tensor)
        return results

    def _lift(self, tensor: Tensor) -> Tensor:
        """A real tensor as a constant of the recorded graph, in the type that such tensors have there."""
        if isinstance(tensor, FakeTensor):
            return tensor
        with host():
            tensor = tensor.detach().to(self._settings.retyped.get(tensor.dtype, tensor.dtype))
        with torch._C.DisableTorchFunction():
            lifted: Tensor = torch.ops.aten.lift_fresh_copy.default(tensor)
        return lifted


class _Scope:
    """The tensors of a graph that runs, over those of the graph around it."""

    def __init__(self, graph: Graph, outer: _Scope | None = None) -> None:
        self._graph = graph
        self._outer = outer
        self.tensors: dict[str, Tensor] = {}

    def get(self, name: str) -> Tensor | None:
        if name in self.tensors:
            return self.tensors[name]
        stored = self._graph.initializers.get(name)
        if stored is not None:
            with host():
                self.tensors[name] = stored.tensor()
            return self.tensors[name]
        return None if self._outer is None else self._outer.get(name)

    def drop(self, name: str) -> None:
        self.tensors.pop(name, None)


def reads(node: Node) -> Iterator[str]:
    """The names that a node reads, those that its inner graphs take from around them included."""
    yield from (name for name in node.inputs if name)
    for graph in node.graphs:
        yield from _free_names(graph, _fed(node, graph))


def _fed(node: Node, graph: Graph) -> int:
    """How many inputs of an inner graph the node gives; the others are tensors around it, by name."""
    if node.type == "If":
        return 0
    return len(graph.inputs) if node.type == "PackedDataBlock" else len(node.inputs)


def _free_names(graph: Graph, fed: int) -> set[str]:
    own = {each.name for each in graph.inputs[:fed]} | set(graph.initializers)
    beyond = {each.name for each in graph.inputs[fed:]}
    found: set[str] = set()
    for node in graph.nodes:
        found |= set(reads(node)) - own
        own.update(node.outputs)
    return found | beyond | ({each.name for each in graph.outputs} - own)


def _fresh(tensor: Tensor | None, inputs: Sequence[Tensor | None]) -> Tensor | None:
    """`tensor`, or an alias of it if it is one of the inputs; one that nothing made is differentiated from here on."""
    if tensor is None:
        return None
    if torch.is_grad_enabled() and tensor.is_floating_point() and not tensor.requires_grad:
        return tensor.detach().requires_grad_(True)
    if all(tensor is not each for each in inputs):
        return tensor
    return tensor.view_as(tensor)


def _listed(outputs: Any) -> list[Tensor | None]:
    return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
