"""Changes to whole models before they are run: other types, weights as constants, unused inputs dropped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tremula.errors import Error
from tremula.frontends.onnx.build.graph import set_attribute, typed_tensor
from tremula.frontends.onnx.dtypes import named_type

#: attributes of nodes that are types
_TYPES = ("to", "dtype")
#: numbers of the integer types, and of truth values
_INTEGERS = (2, 3, 4, 5, 6, 7, 9, 12, 13)


def drop_unused_inputs(message: Any) -> None:
    """Take away inputs and initializers that no node reads."""
    graph = message.graph
    used = {name for node in graph.node for name in node.input} | {each.name for each in graph.output}
    for field in (graph.input, graph.initializer):
        kept = [each for each in field if each.name in used]
        del field[:]
        field.extend(kept)


def prepare_for_training(message: Any) -> None:
    """Give nodes the outputs that they have in training: batch norms their statistics."""
    for node in message.graph.node:
        if node.op_type == "BatchNormalization" and len(node.output) == 1:
            node.output.extend(f"{node.output[0]}_{place}" for place in range(1, 5))
        if node.op_type == "Dropout":
            for place, each in enumerate(node.attribute):
                if each.name == "is_test":
                    del node.attribute[place]
                    break


def retype(message: Any, old: str, new: str, *, check: bool = True) -> None:
    """Have tensors of one type be of another; `check` refuses integers that the new type cannot hold."""
    from onnx import numpy_helper

    before, after = named_type(old), named_type(new)
    graph = message.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        kind = value.type.tensor_type
        if kind.elem_type == before.number:
            kind.elem_type = after.number
    dtype = np.dtype(str(after.torch).removeprefix("torch."))

    def convert(tensor: Any) -> None:
        if tensor.data_type != before.number:
            return
        values = numpy_helper.to_array(tensor)
        if check and np.issubdtype(dtype, np.integer) and values.size:
            bounds = np.iinfo(dtype)
            if values.min() < bounds.min or values.max() > bounds.max:
                raise Error(f"the tensor {tensor.name} has values that {new} cannot hold.")
        tensor.CopyFrom(typed_tensor(values.astype(dtype), tensor.name))

    for each in graph.initializer:
        convert(each)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == attribute.TENSOR:
                convert(attribute.t)
            elif (attribute.name in _TYPES, attribute.type, attribute.i) == (
                True,
                attribute.INT,
                before.number,
            ):
                attribute.i = after.number


def make_constant(message: Any, names: Iterable[str]) -> None:
    """Turn initializers into constants of the graph, which nobody trains and nobody feeds."""
    from onnx import numpy_helper

    graph = message.graph
    wanted = list(names)
    known = {each.name: each for each in graph.initializer}
    for name in wanted:
        if name not in known:
            raise Error(f"TensorId {name} not in the model initalizers")
    nodes = []
    for name in wanted:
        node = type(graph.node.add())(op_type="Constant", output=[name])
        del graph.node[-1]
        set_attribute(node, "value", numpy_helper.to_array(known[name]))
        nodes.append(node)
    rest = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *rest])
    for field in (graph.input, graph.initializer):
        kept = [each for each in field if each.name not in wanted]
        del field[:]
        field.extend(kept)


def fixed_point_initializers(message: Any) -> list[str]:
    """The initializers of integers."""
    return [each.name for each in message.graph.initializer if each.data_type in _INTEGERS]
