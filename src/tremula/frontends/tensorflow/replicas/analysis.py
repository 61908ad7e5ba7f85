"""What a traced program does that matters for its replicas: which variables it writes, where it exchanges data and
draws random numbers, and which of its values are the same on all replicas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.eager import context
from tensorflow.python.ops import control_flow_util_v2

from tremula.frontends.tensorflow.feeds.infeed import FEED_ATTRIBUTE
from tremula.frontends.tensorflow.replicas.collectives import COLLECTIVE_ATTRIBUTE, COUNT, INDEX

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
LOOPS = frozenset({"While", "StatelessWhile"})
BRANCHES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
#: an op with this attribute makes a resource by name; each replica has one of its own
OWN_STATE_ATTRIBUTE = "_tremula_own_state"
#: ops that read a resource without changing it
READS = frozenset(
    {
        "ReadVariableOp",
        "ResourceGather",
        "ResourceGatherNd",
        "VariableShape",
        "VarIsInitializedOp",
        "QueueSizeV2",
    }
)
#: ops with state that give the same on all replicas if their inputs are the same
SAME_EVERYWHERE = READS | {"VarHandleOp", "IteratorV2", "FIFOQueueV2", "NoOp"}
#: ops that read and advance the state of a random generator
GENERATORS = frozenset(
    {"RngReadAndSkip", "RngSkip", "StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal",
     "StatefulUniformInt", "StatefulUniformFullInt", "StatefulRandomBinomial"}
)  # fmt: skip


def attribute(op: Any, name: str) -> str:
    """A text attribute of an op; empty if it has none."""
    value = op.node_def.attr.get(name)
    return value.s.decode() if value is not None else ""


def is_collective(op: Any) -> bool:
    """Whether an op exchanges data between replicas, or depends on the number of its replica."""
    return COLLECTIVE_ATTRIBUTE in op.node_def.attr


def is_outfeed(op: Any) -> bool:
    """Whether an op gives values to the host."""
    return attribute(op, FEED_ATTRIBUTE) == "outfeed"


def has_seed(op: Any) -> bool:
    """Whether an op draws from a random stream of its own."""
    return "seed2" in op.node_def.attr and op._is_stateful


def has_own_state(op: Any) -> bool:
    """Whether an op makes a resource of which each replica has one."""
    return OWN_STATE_ATTRIBUTE in op.node_def.attr


def is_compiled(graph: Any, name: str) -> bool:
    """Whether XLA would compile a function that ops of a graph call (`jit_compile=True`)."""
    function = graph._get_function(name)
    if function is not None:
        return "_XlaMustCompile" in function.cached_definition.attr
    return "_XlaMustCompile" in context.context().get_function_def(name).attr


def function_names(op: Any) -> list[str]:
    """The functions that an op of control flow runs."""
    if op.type in CALLS:
        return [op.get_attr("f").name]
    if op.type in LOOPS:
        return [op.get_attr("cond").name, op.get_attr("body").name]
    if op.type in ("If", "StatelessIf"):
        return [op.get_attr("then_branch").name, op.get_attr("else_branch").name]
    if op.type in BRANCHES:
        return [branch.name for branch in op.get_attr("branches")]
    return []


def function_inputs(op: Any) -> list[Any]:
    """The tensors that the functions of an op get."""
    return list(op.inputs)[1:] if op.type in BRANCHES else list(op.inputs)


@dataclass(frozen=True)
class Effects:
    """What a function does.

    Attributes:
        writes: indices of inputs that are resources which it may change.
        generators: those of them that are states of random generators.
        exchanges: whether it exchanges data with other replicas or with the host.
        differs: whether ops in it are not copied as they are: random streams, the number of the replica, functions
            that XLA would compile.
    """

    writes: frozenset[int]
    generators: frozenset[int]
    exchanges: bool
    differs: bool


class Analysis:
    """Answers about the functions of one program, each found once."""

    def __init__(self) -> None:
        self._graphs: dict[str, Any] = {}
        self._effects: dict[int, Effects] = {}

    def graph(self, op: Any, name: str) -> Any:
        """The graph of a function that an op runs."""
        if name not in self._graphs:
            shapes = [tensor.shape for tensor in function_inputs(op)]
            self._graphs[name] = control_flow_util_v2.get_func_graph(op, shapes, name)
        return self._graphs[name]

    def graphs(self, op: Any) -> list[Any]:
        """The graphs of the functions that an op runs."""
        return [self.graph(op, name) for name in function_names(op)]

    def effects(self, graph: Any) -> Effects:
        """What the function with this graph does."""
        known = self._effects.get(id(graph))
        if known is None:
            known = self._effects[id(graph)] = self._find_effects(graph)
        return known

    def op_effects(self, op: Any) -> list[Effects]:
        """What each function of an op does."""
        return [self.effects(graph) for graph in self.graphs(op)]

    def _find_effects(self, graph: Any) -> Effects:
        index = {tensor.ref(): position for position, tensor in enumerate(graph.inputs)}
        writes: set[int] = set()
        generators: set[int] = set()
        exchanges = differs = False
        for op in graph.get_operations():
            inner = self.op_effects(op)
            indexes = attribute(op, COLLECTIVE_ATTRIBUTE).startswith(INDEX)
            exchanges |= is_collective(op) and not indexes
            exchanges |= is_outfeed(op) or op.type == "IteratorGetNext" or any(e.exchanges for e in inner)
            differs |= indexes or has_seed(op) or has_own_state(op) or any(e.differs for e in inner)
            differs |= op.type in CALLS and is_compiled(graph, function_names(op)[0])
            for position, tensor in _resources(op):
                outer = index.get(tensor.ref())
                if outer is None:
                    continue
                if any(position in e.writes for e in inner) or (not inner and op.type not in READS):
                    writes.add(outer)
                if op.type in GENERATORS or any(position in e.generators for e in inner):
                    generators.add(outer)
        return Effects(frozenset(writes), frozenset(generators), exchanges, differs)

    def has_collectives(self, graph: Any) -> bool:
        """Whether the function with this graph exchanges data between replicas."""
        return any(
            (is_collective(op) and not attribute(op, COLLECTIVE_ATTRIBUTE).startswith((INDEX, COUNT)))
            or any(self.has_collectives(inner) for inner in self.graphs(op))
            for op in graph.get_operations()
        )

    def same_outputs(self, graph: Any, same_inputs: Sequence[bool]) -> list[bool]:
        """Which outputs are the same on all replicas if those inputs are."""
        same = {tensor.ref(): flag for tensor, flag in zip(graph.inputs, same_inputs, strict=True)}
        for op in graph.get_operations():
            if op.type == "Placeholder" and op.outputs and op.outputs[0].ref() in same:
                continue
            for tensor, flag in zip(
                op.outputs, self.same_results(op, [same[t.ref()] for t in op.inputs]), strict=True
            ):
                same[tensor.ref()] = flag
        return [same[tensor.ref()] for tensor in graph.outputs]

    def same_results(self, op: Any, same_inputs: Sequence[bool]) -> list[bool]:
        """Which results of an op are the same on all replicas."""
        if is_collective(op):
            kind, _, group = attribute(op, COLLECTIVE_ATTRIBUTE).partition(":")
            return [kind != INDEX and group == "0"]
        if op.type in LOOPS:
            return self.same_loop(op, same_inputs)
        if op.type in CALLS:
            return self.same_outputs(self.graphs(op)[0], same_inputs)
        if op.type in BRANCHES:
            found = [self.same_outputs(graph, same_inputs[1:]) for graph in self.graphs(op)]
            return [same_inputs[0] and all(flags) for flags in zip(*found, strict=True)]
        alone = (not op._is_stateful or op.type in SAME_EVERYWHERE) and not has_own_state(op)
        return [alone and all(same_inputs)] * len(op.outputs)

    def same_loop(self, op: Any, same_inputs: Sequence[bool]) -> list[bool]:
        """Which variables of a loop are the same on all replicas, in every iteration."""
        condition, body = self.graphs(op)
        same = list(same_inputs)
        while True:
            after = [a and b for a, b in zip(same, self.same_outputs(body, same), strict=True)]
            if after == same:
                break
            same = after
        if not self.same_outputs(condition, same)[0] and not self.effects(body).exchanges:
            # each replica ends when its own condition says so
            return [False] * len(same)
        return same


def _resources(op: Any) -> Iterator[tuple[int, Any]]:
    for position, tensor in enumerate(function_inputs(op) if function_names(op) else op.inputs):
        if tensor.dtype == tf.resource:
            yield position, tensor
