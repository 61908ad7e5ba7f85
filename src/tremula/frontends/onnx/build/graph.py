"""A graph that is being made: inputs, weights, nodes and outputs, as the message that a file holds."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tremula.errors import Error
from tremula.frontends.onnx.build.inference import Inference
from tremula.frontends.onnx.build.naming import Names
from tremula.frontends.onnx.dtypes import named_type
from tremula.frontends.onnx.model import STANDARD
from tremula.frontends.onnx.shapes import TensorType
from tremula.program.op import SourceLine

#: file formats by the operator set that came with them
_OLD_FORMAT, _FORMAT = 3, 4
_LAST_OF_OLD = 8
_FIRST_OPSET, _LAST_OPSET = 6, 11
#: NumPy's name of a type -> the field of a message for its values, the number of the type
_FIELDS = {
    "float32": ("float_data", 1),
    "int32": ("int32_data", 6),
    "int64": ("int64_data", 7),
    "float64": ("double_data", 11),
}
_numbers = itertools.count()


class GraphMaker:
    """One graph; those of bodies (`subgraph`) see its tensors.

    Attributes:
        message: the model's message.
        names: of its tensors.
        sources: the user's line of a node, by the node's first output.
    """

    def __init__(self, parent: GraphMaker | None = None) -> None:
        import onnx

        self.parent = parent
        self.message = onnx.ModelProto(ir_version=_FORMAT)
        self.message.graph.name = f"BuilderGraph_{next(_numbers)}"
        self.names: Names = Names(None if parent is None else parent.names)
        self.sources: dict[str, SourceLine] = {} if parent is None else parent.sources
        self.opsets: dict[str, int] = {}
        self._in_force: list[tuple[str, Any]] = []
        self._nodes: dict[str, Any] = {}
        self._inference: Inference = Inference(self, None if parent is None else parent._inference)

    @property
    def graph(self) -> Any:
        return self.message.graph

    # -- made from a file -----------------------------------------------------------------------------------

    @staticmethod
    def from_message(message: Any) -> GraphMaker:
        """Go on with a model that somebody made earlier."""
        maker = GraphMaker()
        maker.message = message
        for each in message.opset_import:
            domain = each.domain or STANDARD
            if domain == STANDARD and not _FIRST_OPSET <= each.version <= _LAST_OPSET:
                raise Error(
                    f"the model is written in opset {each.version} of ONNX; a builder goes on with those from "
                    f"{_FIRST_OPSET} to {_LAST_OPSET}."
                )
            maker.opsets[domain] = int(each.version)
        for each in (*message.graph.input, *message.graph.initializer):
            maker.names.add(each.name)
        for node in message.graph.node:
            for name in node.output:
                maker.names.add(name)
                maker._nodes[name] = node
        return maker

    def subgraph(self) -> GraphMaker:
        """A graph for the body of a node of this one."""
        maker = GraphMaker(self)
        maker.opsets = dict(self.opsets)
        for domain, version in self.opsets.items():
            maker._import(domain, version)
        return maker

    # -- tensors --------------------------------------------------------------------------------------------

    def add_input(self, dtype: str, shape: Sequence[int | str], name: str = "") -> str:
        """An input of a type (ONNX's name of it) and shape; a dimension may be a name."""
        found = self.names.take(name or "input")
        _set_type(self.graph.input.add(name=found), named_type(dtype).number, shape)
        return found

    def add_untyped_input(self, name: str = "") -> str:
        """An input of a body, whose type is that of what is given."""
        if self.parent is None:
            raise Error(
                "Can not add untyped tensors to the top-level graph. Use addInputTensor with a TensorInfo."
            )
        found = self.names.take(name or "input")
        self.graph.input.add(name=found)
        return found

    def add_input_from_parent(self, name: str) -> None:
        """An input that has the name of a tensor around this graph."""
        if not self.names.outside(name):
            raise Error(
                f"Failed to add unrecognised Tensor {name} from higher scope: no graph around this one has it."
            )
        self.graph.input.add(name=name)

    def add_initializer(self, values: np.ndarray[Any, Any], name: str = "") -> str:
        """A weight with its values."""
        found = self.names.take(name or "init_input")
        tensor = typed_tensor(values, found)
        _set_type(self.graph.input.add(name=found), tensor.data_type, values.shape)
        self.graph.initializer.append(tensor)
        return found

    def add_output(self, name: str) -> None:
        """Make a tensor one of the graph's outputs; its type is written when it is known."""
        self.graph.output.add(name=name)

    def is_initializer(self, name: str) -> bool:
        return any(each.name == name for each in self.graph.initializer)

    def note(self, key: str, value: object) -> None:
        """A property of the model."""
        self.message.metadata_props.add(key=key, value=str(value))

    # -- nodes ----------------------------------------------------------------------------------------------

    def add_node(
        self,
        domain: str,
        opset: int,
        kind: str,
        inputs: Sequence[str],
        outputs: int,
        attributes: Mapping[str, Any],
        *,
        name: str = "",
        source: SourceLine | None = None,
        optional_from: int = 0,
    ) -> list[str]:
        """One operation; the names of its outputs. Inputs from `optional_from` on may be left out (empty)."""
        for place, each in enumerate(inputs):
            if not self._readable(each) and not (each == "" and place >= optional_from):
                raise Error(f"Unknown tensor '{each}' ({self._known_text()}).")
        self._use(domain, opset)
        for value in attributes.values():
            if isinstance(value, GraphMaker):
                for each, version in value.opsets.items():
                    self._use(each, version)
        found = [self.names.take(kind, place) for place in range(outputs)]
        node = self.graph.node.add(op_type=kind, input=inputs, output=found)
        if domain != STANDARD:
            node.domain = domain
        if name or self.names.scopes:
            node.name = self.names.scoped(name or kind)
        for key, value in attributes.items():
            set_attribute(node, key, value)
        # of one attribute the innermost value holds
        for key, value in dict(self._in_force).items():
            set_attribute(node, key, value)
        for output in found:
            self._nodes[output] = node
        if source is not None and found:
            self.sources[found[0]] = source
        return found

    def node_of(self, outputs: Iterable[str]) -> Any:
        """The node that has exactly these outputs."""
        wanted = set(outputs)
        node = self._nodes.get(next(iter(wanted), ""))
        if node is None or set(node.output) != wanted:
            names = " and ".join(sorted(wanted))
            raise Error(f"Could not find a node with outputs {names}. Must specify all outputs of a node")
        return node

    @contextlib.contextmanager
    def attribute(self, name: str, value: Any) -> Iterator[None]:
        """Nodes that are added inside have the attribute."""
        entry = (name, value)
        self._in_force.append(entry)
        try:
            yield
        finally:
            self._in_force.remove(entry)

    def in_force(self, name: str) -> Any:
        """The value of an attribute that new nodes get; None if they get none."""
        return dict(self._in_force).get(name)

    # -- types and the whole --------------------------------------------------------------------------------

    def type_of(self, name: str) -> TensorType:
        """Shape and type of a tensor.

        Raises:
            Error: there is no such tensor, or its type cannot be told.
        """
        return self._inference.type_of(name)

    def has_type(self, name: str) -> bool:
        return self._inference.find(name) is not None

    def made(self) -> list[str]:
        """The tensors that nodes make and whose types are known."""
        return [name for node in self.graph.node for name in node.output if name and self.has_type(name)]

    def complete(self) -> Any:
        """The message, with the types of all tensors that are known."""
        self._inference.write(self.graph)
        return self.message

    def _readable(self, name: str) -> bool:
        return self.names.own(name) or self.names.outside(name)

    def _known_text(self) -> str:
        names = sorted(set(self.names.visible()))
        return f"valid tensors are {', '.join(names)}" if names else "there are no valid tensors yet"

    def _use(self, domain: str, opset: int) -> None:
        found = self.opsets.get(domain)
        if found is None:
            self._import(domain, opset)
        elif found != opset:
            raise Error(
                f"Invalid opset {opset} used to add an operation. Opset for domain {domain} already defined as {found}"
            )

    def _import(self, domain: str, opset: int) -> None:
        self.opsets[domain] = opset
        self.message.opset_import.add(domain="" if domain == STANDARD else domain, version=opset)
        if domain == STANDARD:
            self.message.ir_version = _OLD_FORMAT if opset <= _LAST_OF_OLD else _FORMAT


def typed_tensor(values: np.ndarray[Any, Any], name: str) -> Any:
    """A tensor's message; the common types are in fields of their own, where readers look for them."""
    from onnx import TensorProto, numpy_helper

    values = np.asarray(values)
    field, number = _FIELDS.get(values.dtype.name, ("", 0))
    if not field:
        return numpy_helper.from_array(np.ascontiguousarray(values).reshape(values.shape), name)
    tensor = TensorProto(name=name, data_type=number, dims=values.shape)
    getattr(tensor, field).extend(values.ravel().tolist())
    return tensor


def set_attribute(node: Any, name: str, value: Any) -> None:
    """Give a node an attribute that it does not have."""
    if any(each.name == name for each in node.attribute):
        raise Error(f"Node already has attribute {name}.")
    attribute = node.attribute.add(name=name)
    if isinstance(value, bool | int | np.integer):
        attribute.type, attribute.i = attribute.INT, int(value)
    elif isinstance(value, float | np.floating):
        attribute.type, attribute.f = attribute.FLOAT, float(value)
    elif isinstance(value, str):
        attribute.type, attribute.s = attribute.STRING, value.encode()
    elif isinstance(value, np.ndarray):
        from onnx import numpy_helper

        attribute.type = attribute.TENSOR
        attribute.t.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name))
    elif isinstance(value, GraphMaker):
        attribute.type = attribute.GRAPH
        attribute.g.CopyFrom(value.complete().graph)
    elif isinstance(value, list | tuple):
        _set_list(attribute, value)
    else:
        raise Error(f"an attribute cannot be a {type(value).__name__}.")


def _set_list(attribute: Any, values: Sequence[Any]) -> None:
    if all(isinstance(each, bool | int | np.integer) for each in values):
        attribute.type = attribute.INTS
        attribute.ints.extend(int(each) for each in values)
    elif all(isinstance(each, bool | int | float | np.number) for each in values):
        attribute.type = attribute.FLOATS
        attribute.floats.extend(float(each) for each in values)
    elif all(isinstance(each, str) for each in values):
        attribute.type = attribute.STRINGS
        attribute.strings.extend(each.encode() for each in values)
    else:
        raise Error("an attribute that is a list must hold numbers, or texts.")


def _set_type(value: Any, number: int, shape: Sequence[int | str]) -> None:
    kind = value.type.tensor_type
    kind.elem_type = number
    kind.shape.SetInParent()
    for extent in shape:
        if isinstance(extent, str):
            kind.shape.dim.add(dim_param=extent)
        else:
            kind.shape.dim.add(dim_value=int(extent))
