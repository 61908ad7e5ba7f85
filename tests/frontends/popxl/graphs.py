"""IRs for tests, without a shim."""

from __future__ import annotations

import numpy as np

from tremula.frontends.popxl.info import TensorInfo, TensorKind
from tremula.frontends.popxl.model import Graph, Ir, Op, Tensor, Types, VariableSettings
from tremula.frontends.popxl.program import LoadedProgram


def new_ir(replicas: int = 1) -> Ir:
    """An IR of the engine's own classes."""
    ir = Ir(Types(Graph, Tensor, lambda kind: Op))
    ir.replicas = replicas
    return ir


def variable(ir: Ir, name: str, data: object, groups: tuple[int, ...] | None = None) -> Tensor:
    """A variable of the main graph; `groups` says the group of each replica."""
    array = np.array(data, dtype=np.float32)
    assignment = groups or (0,) * ir.replicas
    shape = array.shape[1:] if len(set(assignment)) > 1 else array.shape
    tensor = ir.main.add_tensor(name, TensorInfo("float32", shape), TensorKind.VARIABLE)
    tensor.data, tensor.settings = array, VariableSettings(assignment)
    return tensor


def constant(graph: Graph, name: str, data: object, dtype: str = "float32") -> Tensor:
    """A constant."""
    array = np.array(data, dtype=dtype)
    tensor = graph.add_tensor(graph.unique(name), TensorInfo(dtype, array.shape), TensorKind.CONST)
    tensor.data = array
    return tensor


def op(graph: Graph, kind: str, *inputs: Tensor, **attributes: object) -> Tensor:
    """The first output of a new op."""
    return graph.add_op(kind, dict(enumerate(inputs)), {0: f"{kind}_out"}, attributes).outputs[0]


def call(graph: Graph, called: Graph, *inputs: Tensor, modified: tuple[int, ...] = ()) -> Op:
    """A call; the caller sees changes of the inputs `modified`."""
    names = {index: tensor.name for index, tensor in enumerate(called.outputs)}
    made = graph.add_op("Call", dict(enumerate(inputs)), names, {"graphs": [called]})
    made.modified.update(dict.fromkeys(modified, True))
    return made


def store(ir: Ir, name: str, tensor: Tensor) -> None:
    """Send a tensor of the main graph to the host."""
    ir.main.add_tensor(name, tensor.type)
    ir.main.add_op("HostStore", {0: tensor}, {}, {"stream": name})


def run(ir: Ir, *names: str, **inputs: np.ndarray) -> list[np.ndarray]:
    """What streams to the host get in one run."""
    program = LoadedProgram(ir)
    program.load()
    outputs = {
        name: np.zeros((1, ir.replicas, *ir.main.tensors[name].type.shape), np.float32) for name in names
    }
    program.run(inputs, outputs)
    program.save()
    return [outputs[name][0] for name in names]
