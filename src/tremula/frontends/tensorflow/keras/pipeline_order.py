"""The order in which a pipelined Keras model runs: the calls of its layers, divided into stages.

A model is a network of calls (Keras' nodes). Nested models are taken apart: their calls take a place in the order of
the outer model, each in its own stage. Values between calls have numbers, so that a nested model that is called
twice has two sets of values.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v2 as tf


@dataclass(frozen=True)
class Network:
    """The graph of a model: structures of Keras tensors, and nodes by their distance from the outputs."""

    inputs: Any
    outputs: Any
    nodes_by_depth: dict[int, list[Any]]

    def calls(self) -> list[Any]:
        """The nodes without those of inputs, each after those whose results it takes."""
        known = {id(tensor) for tensor in tf.nest.flatten(self.inputs)}
        order = []
        for depth in sorted(self.nodes_by_depth, reverse=True):
            for node in self.nodes_by_depth[depth]:
                if not node.is_input and all(id(tensor) in known for tensor in node.keras_inputs):
                    known.update(id(tensor) for tensor in tf.nest.flatten(node.outputs))
                    order.append(node)
        return order


@dataclass(frozen=True)
class Call:
    """One call of a layer.

    Attributes:
        node: Keras' node.
        stage: the number of its stage.
        arguments: the numbers of the values of the node's Keras tensors.
        results: the numbers of its results.
        training: what a nested model around it was called with; None if nothing was said.
    """

    node: Any
    stage: int
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    training: Any = None


@dataclass
class Order:
    """All calls of a model.

    Attributes:
        calls: as they were found; those of one stage are in the right order.
        inputs: the numbers of the model's inputs.
        outputs: the numbers of its flat outputs.
        constants: values that nested models were called with and no call computes.
    """

    calls: list[Call] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    constants: dict[int, Any] = field(default_factory=dict)

    def stages(self) -> list[list[Call]]:
        """The calls of each stage.

        Raises:
            RuntimeError: a stage before the last has no calls.
        """
        last = max((call.stage for call in self.calls), default=0)
        found: list[list[Call]] = [[] for _ in range(last + 1)]
        for call in self.calls:
            found[call.stage].append(call)
        # stage 0 has the inputs at least
        missing = [number for number, calls in enumerate(found) if number and not calls]
        if missing:
            raise RuntimeError(
                f"All stages in a pipeline must have at lease one layer assigned to them. The highest stage with an "
                f"assignment is stage {last}, however the preceeding stages {missing} had no assignments. Number the "
                f"stages without gaps."
            )
        return found

    def check(self) -> None:
        """See that each call takes results of its own stage or of earlier ones.

        Raises:
            ValueError: a call takes the result of a later stage.
        """
        known = {*self.inputs, *self.constants}
        for call in sorted(self.calls, key=lambda call: call.stage):
            if not known.issuperset(call.arguments):
                raise ValueError(
                    f"Layer {call.node.layer.name} in pipeline stage {call.stage} has a dependency from a pipeline "
                    f"stage that runs after it: a layer takes results of its own stage or of earlier ones."
                )
            known.update(call.results)


def order_of(model: Any, assignments: Any) -> Order:
    """The calls of a model in the stages that `assignments` say.

    Raises:
        ValueError: the assignments are not those of the model, or are incomplete, or cannot be run in order.
    """
    order, numbers = Order(), itertools.count()
    inputs = tf.nest.flatten(model._pipeline_network().inputs)
    order.inputs = [next(numbers) for _ in inputs]
    order.outputs = _add(model, assignments, order.inputs, order, numbers, None)
    order.check()
    return order


def _add(
    model: Any, assignments: Any, inputs: Sequence[int], order: Order, numbers: Any, training: Any
) -> list[int]:
    """Append the calls of a (nested) model; the numbers of its outputs."""
    network = model._pipeline_network()
    calls = network.calls()
    _check_list(assignments, len(calls))
    values = {
        id(tensor): number for tensor, number in zip(tf.nest.flatten(network.inputs), inputs, strict=True)
    }
    for assignment, node in zip(assignments, calls, strict=True):
        if hasattr(node.layer, "_pipeline_network"):
            _check_nested(model, assignment, node)
            given = [_number(tensor, values, order, numbers) for tensor in _nested_arguments(node)]
            inner = node.call_kwargs.get("training")
            results = _add(
                node.layer, assignment.pipeline_stage_assignments, given, order, numbers,
                training if inner is None else inner,
            )  # fmt: skip
        else:
            _check_layer(model, assignment, node)
            results = [next(numbers) for _ in tf.nest.flatten(node.outputs)]
            arguments = tuple(values[id(tensor)] for tensor in node.keras_inputs)
            order.calls.append(Call(node, assignment.pipeline_stage, arguments, tuple(results), training))
        values.update(
            (id(tensor), n) for tensor, n in zip(tf.nest.flatten(node.outputs), results, strict=True)
        )
    return [values[id(tensor)] for tensor in tf.nest.flatten(network.outputs)]


def _nested_arguments(node: Any) -> list[Any]:
    given = node.call_args[0] if node.call_args else node.call_kwargs["inputs"]
    flatten = getattr(node.layer, "_flatten_to_reference_inputs", tf.nest.flatten)
    return list(flatten(given))


def _number(tensor: Any, values: dict[int, int], order: Order, numbers: Any) -> int:
    known = values.get(id(tensor))
    if known is None:
        known = next(numbers)
        order.constants[known] = tensor
    return known


def _check_list(assignments: Any, calls: int) -> None:
    if not isinstance(assignments, list):
        raise ValueError(f"`pipeline_stage_assignment` needs to be a list, not {type(assignments).__name__}.")
    check_length(assignments, calls)


def check_length(assignments: Any, calls: int) -> None:
    """See that there is one assignment for each call.

    Raises:
        ValueError: there are more or fewer.
    """
    if len(assignments) != calls:
        raise ValueError(
            f"The length of the provided `pipeline_stage_assignment` ({len(assignments)}) does not match the number of "
            f"layers in the graph ({calls}). Give one for each call of a layer, without the input layers; "
            f"`get_pipeline_stage_assignment()` lists them."
        )


def _check_nested(model: Any, assignment: Any, node: Any) -> None:
    wanted = model._nested_assignment
    if not isinstance(assignment, wanted):
        raise ValueError(
            f"The pipeline stage assignment for nested model {node.layer.name} in {model.name} must be an instance of "
            f"`{wanted.__name__}`. It is {_kind(assignment)}."
        )
    _check_same(assignment.nested_model, node)


def _check_layer(model: Any, assignment: Any, node: Any) -> None:
    wanted, layer = model._layer_assignment, node.layer
    if not isinstance(assignment, wanted):
        raise ValueError(
            f"The pipeline stage assignment for layer {layer.name} in {model.name} must be an instance of "
            f"`{wanted.__name__}`. It is {_kind(assignment)}."
        )
    _check_same(assignment.layer, node)
    index = getattr(assignment, "node_index", None)
    which = "" if index is None else f" with node_index {index}"
    if assignment.pipeline_stage is None:
        raise ValueError(
            f"Layer {layer.name}{which} has not been assigned a pipeline stage in `pipeline_stage_assignment`."
        )
    if index is not None:
        _check_call(layer, index, node)
    if not isinstance(assignment.pipeline_stage, int) or assignment.pipeline_stage < 0:
        raise ValueError(
            f"Layer {layer.name}{which} is assigned to {assignment.pipeline_stage!r}, which is not a pipeline stage: "
            f"stages are integers from 0."
        )


def _check_same(layer: Any, node: Any) -> None:
    if layer is not node.layer:
        raise ValueError(
            f"The order of `pipeline_stage_assignment` does not match the post-order generated from the graph: where "
            f"{node.layer.name} runs, there is an assignment for {layer.name}."
        )


def _check_call(layer: Any, index: int, node: Any) -> None:
    nodes = layer._inbound_nodes
    if index >= len(nodes):
        raise ValueError(
            f"Layer {layer.name} is called {len(nodes)} times, but `pipeline_stage_assignment` has node_index {index}."
        )
    if nodes[index] is not node:
        raise ValueError(
            f"The order of `pipeline_stage_assignment` does not match the post-order generated from the graph: call "
            f"{index} of layer {layer.name} does not run here."
        )


def _kind(assignment: Any) -> str:
    return "None" if assignment is None else f"of type {type(assignment).__name__}"
