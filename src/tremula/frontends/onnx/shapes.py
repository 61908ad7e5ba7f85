"""Shapes and types of all tensors of a graph, found by running it on fake tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tremula.errors import Error
from tremula.frontends.onnx.interpreter import Before, Functions, Interpreter
from tremula.frontends.onnx.model import Graph, Node, OnnxModel, Value
from tremula.frontends.onnx.settings import Settings

#: no name of a tensor
_MARK = "\0"
#: elements of one tensor, beyond which a graph is refused
_MOST_ELEMENTS = 2**42


@dataclass(frozen=True)
class TensorType:
    """Shape and type of a tensor."""

    shape: tuple[int, ...]
    dtype: torch.dtype


def shapes_of(
    graph: Graph,
    inputs: Mapping[str, TensorType],
    settings: Settings | None = None,
    *,
    functions: Functions | None = None,
    interpreter: Interpreter | None = None,
    before: Before | None = None,
) -> dict[str, TensorType]:
    """The type of every tensor of `graph` by name, inputs and weights included; those of inner graphs are left out.

    `before` sees each node and its inputs, and may refuse it.

    Raises:
        Error: an operator is not known, or cannot take its inputs; the node and the user's line are named.
    """
    interpreter = interpreter or Interpreter(graph, None, settings, functions=functions)
    found = dict(inputs)
    found |= {
        name: TensorType(stored.shape, stored.type.torch) for name, stored in graph.initializers.items()
    }

    def watch(node: Node, outputs: Sequence[torch.Tensor | None]) -> None:
        for name, tensor in zip(node.outputs, outputs, strict=False):
            if name and tensor is not None:
                if tensor.numel() > _MOST_ELEMENTS:
                    raise Error(f"{node}: the tensor {name} has {tensor.numel():,} elements.")
                found[name] = TensorType(tuple(tensor.shape), tensor.dtype)

    mode = FakeTensorMode()
    constants = constant_initializers(interpreter)
    with mode, torch.no_grad():
        values = {
            name: torch.empty(kind.shape, dtype=kind.dtype)
            for name, kind in found.items()
            if name not in constants
        }
        # what has no inputs is recorded, too
        values[_MARK] = torch.empty(())
        wanted = [name for node in graph.nodes for name in node.outputs if name]
        interpreter.run(values, wanted, watch, before=before)
    return found


def constant_initializers(interpreter: Interpreter) -> frozenset[str]:
    """Initializers that are not weights: integers and truth values that are small, single numbers, and those whose
    values decide about shapes.
    """
    needed = interpreter.value_inputs()
    return frozenset(
        name
        for name, stored in interpreter.graph.initializers.items()
        if name in needed
        or (not stored.type.torch.is_floating_point and stored.elements <= _SMALL)
        or not stored.shape
    )


#: integer initializers up to this size are built into the graph
_SMALL = 2**16


def input_types(
    model: OnnxModel,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dimensions: Mapping[str, int] | None = None,
) -> dict[str, TensorType]:
    """The types of a model's inputs. `shapes` are whole shapes by input, `dimensions` numbers by a dimension's name.

    Raises:
        Error: a dimension is not known, or what is given contradicts the file.
    """
    shapes, dimensions = dict(shapes or {}), dict(dimensions or {})
    unknown = [name for name in shapes if name not in {each.name for each in model.graph.inputs}]
    if unknown:
        names = ", ".join(each.name for each in model.graph.inputs)
        raise Error(f"the model has no input {unknown[0]}; its inputs are {names}.")
    return {each.name: _input_type(each, shapes.get(each.name), dimensions) for each in model.graph.inputs}


def open_dimensions(model: OnnxModel) -> dict[str, list[str]]:
    """Dimensions of inputs that the file leaves open: by their name, or by their place, the inputs that have them."""
    found: dict[str, list[str]] = {}
    for value in model.graph.inputs:
        for place, extent in enumerate(value.shape or ()):
            if not isinstance(extent, int):
                found.setdefault(extent or f"{value.name}.{place}", []).append(value.name)
    return found


def _input_type(value: Value, given: Sequence[int] | None, dimensions: Mapping[str, int]) -> TensorType:
    if value.type is None:
        raise Error(f"the file does not say which type the input {value.name} has.")
    if given is not None:
        fits = value.shape is None or (
            len(value.shape) == len(given)
            and all(
                not isinstance(own, int) or own == new for own, new in zip(value.shape, given, strict=True)
            )
        )
        if not fits:
            raise Error(
                f"the input {value.name} has the shape {list(value.shape or ())}, which {list(given)} does not fit."
            )
        return TensorType(tuple(given), value.type.torch)
    if value.shape is None:
        raise Error(f"the file does not say which shape the input {value.name} has: give it.")
    shape = []
    for place, extent in enumerate(value.shape):
        name = extent if isinstance(extent, str) else f"{value.name}.{place}"
        number = extent if isinstance(extent, int) else dimensions.get(name)
        if number is None:
            raise Error(
                f"the file leaves the dimension {name} of the input {value.name} open: give it a number."
            )
        shape.append(number)
    return TensorType(tuple(shape), value.type.torch)
