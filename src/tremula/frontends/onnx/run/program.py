"""A graph that is to be run, checked: its inputs, weights, anchored tensors and loss, with their types."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tremula.errors import Error
from tremula.frontends.onnx.failing import KnownError
from tremula.frontends.onnx.interpreter import Interpreter, reads
from tremula.frontends.onnx.model import Graph, Node, OnnxModel
from tremula.frontends.onnx.run.anchors import AnchorRule
from tremula.frontends.onnx.run.device_limits import check, described
from tremula.frontends.onnx.run.device_types import RETYPED, device_type
from tremula.frontends.onnx.run.differentiable import differentiable
from tremula.frontends.onnx.settings import Settings
from tremula.frontends.onnx.shapes import TensorType, constant_initializers, input_types, shapes_of

GRADIENT = "Gradient___"
#: how the names of tensors of weight updates begin
_OF_UPDATES = (
    "Accl", "Accum___", "Step___", "UpdatedVar___", "lossScaling", "scaledLearningRate", "weightDecay",
    "scaledWeightDecay", "dampeningScaleFactor", "scaledMomentum", "learningRate___", "adam", "adaptive",
    "maxWeightNorm", "finalLossScale", "lossScaleUpdateFactor",
)  # fmt: skip
#: stored in their first input at the end of a turn
_STORES = "CopyVarUpdate"


#: how the device reads graphs
DEVICE_SETTINGS = Settings(retyped=RETYPED, as_device=True)


@dataclass(frozen=True)
class Request:
    """What is to be run of a model."""

    anchors: Mapping[str, AnchorRule]
    #: the tensor that is made smaller; None: nothing is trained
    loss: str | None = None
    #: shapes of inputs that the model leaves open
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    settings: Settings = DEVICE_SETTINGS


class GraphProgram:
    """A checked graph.

    Attributes:
        inputs: those that are read, with the types in the graph.
        weights: initializers that are kept on the device.
        trained: those of them that the loss depends on.
        types: of all tensors, as the device has them.
    """

    def __init__(self, model: OnnxModel, request: Request) -> None:
        """Raises Error: the graph cannot be run, or what is asked for is not in it."""
        self.model = model
        self.request = request
        graph = model.graph
        self.interpreter = Interpreter(graph, model.opsets, request.settings, functions=model.functions)
        given = input_types(model, _shapes(model, request.shapes))
        self._found = shapes_of(
            graph,
            given,
            functions=model.functions,
            interpreter=self.interpreter,
            before=lambda node, inputs: check(node, inputs, request.loss is not None),
        )
        self.types = {
            name: TensorType(kind.shape, device_type(kind.dtype)) for name, kind in self._found.items()
        }
        self.stores = _stores(graph.nodes)
        if request.loss is not None:
            self.stores |= _statistics(graph)
        self.weights = self._weights()
        self.gradients = tuple(
            name.removeprefix(GRADIENT) for name in request.anchors if name.startswith(GRADIENT)
        )
        #: anchored tensors of the update, not of the graph
        self.beside = tuple(
            name
            for name in request.anchors
            if request.loss is not None and name not in self.types and name.startswith(_OF_UPDATES)
        )
        self.values = tuple(
            name
            for name in request.anchors
            if not name.startswith(GRADIENT) and name not in self.stores and name not in self.beside
        )
        self.differentiable = frozenset[str]()
        if request.loss is not None:
            self.differentiable = differentiable(graph, self._found, request.loss)
        self._check()
        wanted = [*self.values, *self.stores.values()]
        wanted += [] if request.loss is None else [request.loss]
        self.wanted = tuple(dict.fromkeys(wanted))
        read = {name for node in self.interpreter.needed(self.wanted) for name in reads(node)}
        read |= set(self.wanted)
        self.inputs = {name: kind for name, kind in given.items() if name in read}
        self.trained = self._trained()

    def info(self, name: str) -> TensorType:
        """Shape and type of a tensor, or of a gradient, on the device."""
        found = self.types.get(name.removeprefix(GRADIENT))
        if found is None:
            raise Error(f"no tensor with id {name} is in the graph.")
        return found

    @property
    def collective(self) -> bool:
        """Whether replicas hand each other tensors inside the graph."""
        kinds = ("ReplicatedAllReduce", "ReplicatedReduceScatter", "ReplicatedAllGather")
        return any(node.type in kinds for node in self.model.graph.all_nodes())

    def trained_tensors(self) -> frozenset[str]:
        """The tensors whose gradients are computed: made from trained weights, or anchored."""
        found = {*self.trained, *self.gradients}
        for node in self.model.graph.nodes:
            if found.intersection(reads(node)):
                found.update(name for name in node.outputs if name in self.differentiable)
        return frozenset(found)

    def _weights(self) -> tuple[str, ...]:
        """Initializers that live on the device: all but those that shapes depend on, and small integers."""
        shaping = self.interpreter.value_inputs()
        constants = constant_initializers(self.interpreter)
        return tuple(
            name
            for name, stored in self.model.graph.initializers.items()
            if name in self.stores
            or name not in constants
            or (stored.type.torch.is_floating_point and name not in shaping)
        )

    def _check(self) -> None:
        loss = self.request.loss
        for name in self.request.anchors:
            if name in self.beside:
                continue
            if name.removeprefix(GRADIENT) not in self.types:
                raise Error(f"{_not_there(name)} The graph has no tensor {name.removeprefix(GRADIENT)}.")
        if self.gradients and loss is None:
            raise Error(
                f"{_not_there(GRADIENT + self.gradients[0])} Only a graph that is trained has gradients."
            )
        if loss is None:
            return
        if loss not in self.types:
            raise Error(f"the loss {loss} is not in the graph.")
        if math.prod(self.types[loss].shape) != 1:
            raise KnownError(
                f"the shape of the loss is {list(self.types[loss].shape)}: {loss} must be a scalar tensor"
            )
        unreached = [name for name in self.gradients if name not in self.differentiable]
        if unreached:
            raise Error(f"{_not_there(GRADIENT + unreached[0])} The loss has no gradient for {unreached[0]}.")
        self._check_batch_norms()

    def _check_batch_norms(self) -> None:
        """Batch norms that use kept statistics have no backward pass on the device."""
        for node in self.model.graph.all_nodes():
            if node.type == "BatchNormalization" and len(node.outputs) == 1:
                behind = set(node.outputs) & self.differentiable
                if behind and any(name in self.differentiable for name in node.inputs):
                    raise KnownError(
                        f"{described(node)} has 1 output: it uses kept statistics, and its gradient is needed. To use "
                        "the BatchNorm Op in inference mode during training, it has to be detached first."
                    )

    def _trained(self) -> tuple[str, ...]:
        if self.request.loss is None:
            return ()
        stored = set(self.stores)
        return tuple(
            name
            for name in self.weights
            if name in self.differentiable and name not in stored and self.types[name].dtype.is_floating_point
        )


def _not_there(name: str) -> str:
    return f"Anchor tensor `{name}' not in Ir Tensors."


def _stores(nodes: Iterable[Node]) -> dict[str, str]:
    """Weights that the graph itself changes: weight -> the tensor that holds its new value."""
    return {node.inputs[0]: node.outputs[0] for node in nodes if node.type == _STORES}


def _statistics(graph: Graph) -> dict[str, str]:
    """Running statistics that batch norms keep in weights: weight -> the tensor that holds its new value."""
    found = {}
    for node in graph.nodes:
        if node.type == "BatchNormalization":
            for place, output in ((3, 1), (4, 2)):
                name = node.inputs[place] if place < len(node.inputs) else ""
                if name in graph.initializers and output < len(node.outputs) and node.outputs[output]:
                    found[name] = node.outputs[output]
    return found


def _shapes(model: OnnxModel, given: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    names = {each.name for each in model.graph.inputs}
    return {name: shape for name, shape in given.items() if name in names}
