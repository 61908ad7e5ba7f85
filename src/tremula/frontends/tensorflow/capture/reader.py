"""From a traced graph to nodes: functions, loops and branches are written in place.

Nothing runs. Ops whose results nothing needs are left out, as the compiler leaves them out (`live.py`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.capture.attributes import Attributes, dtype_name, facts_of
from tremula.frontends.tensorflow.capture.composites import Composites
from tremula.frontends.tensorflow.capture.contents import known_content
from tremula.frontends.tensorflow.capture.function_graphs import in_order, traced_graph
from tremula.frontends.tensorflow.capture.layers import LayerTree, scope_of
from tremula.frontends.tensorflow.capture.nodes import Block, Node, Value
from tremula.frontends.tensorflow.capture.sizes import known_shape, shape_like_input
from tremula.frontends.tensorflow.capture.tensor_lists import list_shape
from tremula.frontends.tensorflow.capture.trips import Counters
from tremula.frontends.tensorflow.capture.variables import Variables
from tremula.frontends.tensorflow.pipeline import facts as pipeline_facts
from tremula.frontends.tensorflow.pipeline.checks import ALL_DEVICES
from tremula.frontends.tensorflow.replicas.analysis import (
    BRANCHES,
    CALLS,
    LOOPS,
    Analysis,
    function_names,
)
from tremula.frontends.tensorflow.sharding import ATTRIBUTE as SHARDING
from tremula.frontends.tensorflow.sharding import get_sharding
from tremula.frontends.tensorflow.user_lines import line_of
from tremula.program.op import Phase, SourceLine

_PHASES = {
    pipeline_facts.FORWARD: Phase.FORWARD,
    pipeline_facts.BACKWARD: Phase.BACKWARD,
    pipeline_facts.ACCUMULATE: Phase.ACCUMULATE,
    pipeline_facts.UPDATE: Phase.UPDATE,
}

#: the place of the result of a batch norm that holds nothing
_RESERVED = 5


class Surroundings:
    """What ops in the body of a function have from the op that runs it."""

    __slots__ = ("block", "composite", "ipu", "layer", "loop", "phase", "stage")

    def __init__(
        self,
        block: Block | None = None,
        loop: str = "",
        phase: Phase | None = None,
        stage: int | None = None,
        ipu: int | None = None,
        composite: str | None = None,
        layer: tuple[str, SourceLine | None] = ("", None),
    ) -> None:
        self.block, self.loop, self.phase, self.stage, self.ipu = block, loop, phase, stage, ipu
        self.composite = composite
        #: the layer that calls the function, and its line: ops of the function may have no scope of their own
        self.layer = layer


class Reader:
    """Reads one program.

    Args:
        layers: the layers of the user's model.
        variables: the variables that graphs of the program capture.
    """

    def __init__(self, layers: LayerTree, variables: Variables) -> None:
        self._layers, self._variables = layers, variables
        self._analysis = Analysis()
        self._taken: dict[str, int] = {}
        self._lines: dict[str, SourceLine] = {}
        #: names of ops: a scope with such a name is the op's own, such as that of the shape of a reshape
        self._named: set[str] = set()
        self.nodes: list[Node] = []
        #: the phase that marks in the graph say; what has none gets it from what it depends on
        self.marked: dict[Node, Phase] = {}
        #: nodes that are parts of a layer of the device's libraries, with its description
        self.composites = Composites()
        #: what pipelines and accumulating optimizers noted for the device, by name
        self.options: dict[str, Any] = {}
        #: nodes with sizes that are not known before the program runs; 1 is taken for them
        self.unknown_sizes: list[Node] = []

    def read(self, graph: Any, inputs: Sequence[Value], around: Surroundings) -> list[Value]:
        """The nodes of a graph are added; gives its outputs.

        Args:
            graph: the graph of a function.
            inputs: the values of its inputs, captured ones included.
            around: where it is run.
        """
        values: dict[Any, Value] = dict(zip((t.ref() for t in graph.inputs), inputs, strict=True))
        ordered = list(in_order(graph))
        self._named.update(op.name.removeprefix(around.loop) for op in ordered)
        for op in ordered:
            if op.type == "Placeholder" and op.outputs[0].ref() in values:
                continue
            given = [values[tensor.ref()] for tensor in op.inputs]
            for tensor, value in zip(op.outputs, self._results(op, given, around), strict=True):
                values[tensor.ref()] = value
        return [values[tensor.ref()] for tensor in graph.outputs]

    def value(self, name: str, tensor: Any) -> Value:
        """A new value for an input of the program."""
        return Value(self._unique(name), known_shape(tensor), dtype_name(tensor.dtype))

    def _results(self, op: Any, given: list[Value], around: Surroundings) -> list[Value]:
        kind = op.type
        if kind == "VarHandleOp":
            return [self._variables.by_name(op).value]
        if kind in CALLS:
            inner = self._inside(op, around, around.block, around.loop)
            return self.read(self._graphs(op)[0], given, inner)
        if kind in LOOPS:
            return self._loop(op, given, around)
        if kind in BRANCHES:
            return self._branch(op, given, around)
        return self._node(op, given, around).outputs

    def _loop(self, op: Any, given: list[Value], around: Surroundings) -> list[Value]:
        condition, body = self._graphs(op)
        counters = Counters(condition, body, given)
        trips = counters.trips()
        block = Block(around.block, 1 if trips is None else trips, unknown_trips=trips is None)
        outputs = self.read(body, given, self._inside(op, around, block, f"{op.name}/"))
        if trips is None:
            return outputs
        return [
            self._after_loop(value, counters.value_after(place, trips)) for place, value in enumerate(outputs)
        ]

    def _after_loop(self, value: Value, known: Any) -> Value:
        if known is None:
            return value
        return Value(self._unique(f"{value.name}/after"), value.shape, value.dtype, constant=known)

    def _branch(self, op: Any, given: list[Value], around: Surroundings) -> list[Value]:
        found = facts_of(op.node_def.attr)
        every = found.get(pipeline_facts.UPDATE_EVERY)
        results: list[list[Value]] = []
        name = self._unique(op.name)
        for case, graph in enumerate(self._graphs(op)):
            block = Block(around.block, branch=name, case=case, predicate=given[0])
            if every is not None:
                # an update after some iterations: the loops of the program count it
                block = Block(around.block, update_every=int(every))
            inner = self._inside(op, around, block, f"{op.name}/")
            if every is not None and case == 0:
                inner.phase = Phase.UPDATE
            results.append(self.read(graph, given[1:], inner))
        if every is not None:
            return results[0]
        return [self._end_of_branch(name, cases, around) for cases in zip(*results, strict=True)]

    def _end_of_branch(self, branch: str, cases: Sequence[Value], around: Surroundings) -> Value:
        """A result of a branch: that of any of its cases."""
        first = cases[0]
        if all(case is first for case in cases) or any(case.variable is not None for case in cases):
            return first
        # a case that keeps nothing for the gradient says nothing about the result
        listed = sorted(cases, key=lambda case: case.node is not None and case.node.type == "OptionalNone")
        name = self._unique(f"{branch}/end")
        node = Node(name, "Merge", listed, [], {}, {}, module=_module(listed), block=around.block)
        node.stage, node.ipu = around.stage, around.ipu
        if around.phase is not None:
            self.marked[node] = around.phase
        node.outputs.append(Value(name, listed[0].shape, listed[0].dtype, node))
        for value in listed:
            value.users.append(node)
        self.nodes.append(node)
        return node.output

    def _inside(self, op: Any, around: Surroundings, block: Block | None, loop: str) -> Surroundings:
        attributes = op.node_def.attr
        found = facts_of(attributes)
        phase = _PHASES.get(found.get(pipeline_facts.PASS, ""), around.phase)
        return Surroundings(
            block,
            loop,
            phase,
            found.get(pipeline_facts.STAGE, around.stage),
            _ipu(op, attributes, around.ipu),
            self.composites.of(op.name, found) or around.composite,
            self._caller(op, around),
        )

    def _caller(self, op: Any, around: Surroundings) -> tuple[str, SourceLine | None]:
        """The layer that runs a function. The gradient of a function takes what the function kept for it."""
        for each in (op, *(tensor.op for tensor in op.inputs if tensor.op.type in CALLS)):
            found = self._layers.find(scope_of(each.name, around.loop)[0])
            if found[0]:
                return found
        return around.layer

    def _layer(self, scope: list[str], around: Surroundings) -> tuple[str, SourceLine | None]:
        """The layer that a scope lies in, and its line; for a scope in none, that of the op around."""
        module, line = self._layers.find(scope)
        return (module, line) if module else around.layer

    def _node(self, op: Any, given: list[Value], around: Surroundings) -> Node:
        attributes = op.node_def.attr if op.type != "Const" else {}
        found = facts_of(attributes)
        for key in (pipeline_facts.PIPELINE, pipeline_facts.ACCUMULATION):
            if key in found:
                self.options.update(json.loads(found[key]))
        name = self._unique(op.name)
        scope, gradient = scope_of(op.name, around.loop)
        while scope and "/".join(scope) in self._named:
            scope.pop()
        module, line = self._layer(scope, around)
        node = Node(
            name,
            op.type,
            given,
            [],
            Attributes(attributes),
            found,
            module=module,
            stage=found.get(pipeline_facts.STAGE, around.stage),
            ipu=_ipu(op, attributes, around.ipu),
            block=around.block,
        )
        phase = _PHASES.get(found.get(pipeline_facts.PASS, ""), around.phase)
        if phase is not None:
            self.marked[node] = phase
        part_of = self.composites.of(op.name, found) or around.composite
        if part_of is not None:
            self.composites.add(node, part_of)
        if op.type != "Const":
            node.source = line or self._line(op, module, gradient or phase is Phase.BACKWARD)
        for place, tensor in enumerate(op.outputs):
            value = Value(
                name if len(op.outputs) == 1 else f"{name}:{place}",
                self._shape(op, node, tensor),
                dtype_name(tensor.dtype) if tensor.dtype != tf.variant else _element_type(node),
                node,
                constant=known_content(op, tensor, given),
            )
            node.outputs.append(value)
        for value in given:
            value.users.append(node)
        self.nodes.append(node)
        return node

    def _line(self, op: Any, module: str, backward: bool) -> SourceLine | None:
        """The line of an op; a gradient has that of the ops of its layer, or of the layer around it."""
        if backward:
            while module and module not in self._lines:
                module = module.rpartition("/")[0]
            return self._lines.get(module)
        line = line_of(op)
        if line is not None:
            self._lines.setdefault(module, line)
        return line

    def _shape(self, op: Any, node: Node, tensor: Any) -> tuple[int, ...]:
        if tensor.dtype == tf.variant:
            return list_shape(node)
        sizes = tensor.shape.as_list() if tensor.shape.rank is not None else None
        if sizes is None or None in sizes:
            guessed = shape_like_input(node, tensor)
            if guessed is not None:
                return guessed
            # room that a kernel of GPUs may want for its gradient: there is none on the device
            if op.type != "FusedBatchNormV3" or tensor.value_index != _RESERVED:
                self.unknown_sizes.append(node)
        return known_shape(tensor)

    def _graphs(self, op: Any) -> list[Any]:
        """The graphs of the functions that an op runs: as they were traced, where that is known."""
        return [traced_graph(op.graph, name) or self._analysis.graph(op, name) for name in function_names(op)]

    def _unique(self, name: str) -> str:
        count = self._taken.get(name, 0)
        self._taken[name] = count + 1
        return name if not count else f"{name}#{count}"


def _module(values: Sequence[Value]) -> str:
    """The layer of the first of some values that an op makes."""
    return next((value.node.module for value in values if value.node is not None), "")


def _ipu(op: Any, attributes: Any, otherwise: int | None) -> int | None:
    if SHARDING not in attributes:
        return otherwise
    found = get_sharding(op)
    if not found:
        return otherwise
    return None if found[0] == ALL_DEVICES else found[0]


def _element_type(node: Node) -> str:
    if "element_dtype" in node.attributes:
        return str(node.attributes["element_dtype"])
    return node.inputs[0].dtype if node.inputs else "int32"
