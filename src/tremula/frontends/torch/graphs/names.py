"""Names of ops and tensors as users of the real stack know them: `scope/Type:0`, `Gradient___weight`.

The type is the device compiler's word for the op where the public documentation gives one, and the torch
name in camel case elsewhere. Repeated names get `/1`, `/2`, ... appended.
"""

from __future__ import annotations

from collections import Counter
from operator import getitem
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.graphs.program import TorchProgram, record_of, tensors_of
from tremula.program.op import Phase

#: torch op (without overload) -> the device compiler's op type
_TYPES = {
    "add": "Add",
    "sub": "Sub",
    "rsub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "mm": "MatMul",
    "bmm": "MatMul",
    "addmm": "MatMul",
    "baddbmm": "MatMul",
    "mv": "MatMul",
    "dot": "MatMul",
    "convolution": "Conv",
    "lstm": "LSTM",
    "relu": "Relu",
    "gelu": "Gelu",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "_softmax": "Softmax",
    "_log_softmax": "LogSoftmax",
    "nll_loss_forward": "Nll",
    "mse_loss": "MSELoss",
    "native_batch_norm": "BatchNormalization",
    "native_group_norm": "GroupNormalization",
    "native_layer_norm": "LayerNormalization",
    "max_pool2d_with_indices": "MaxPool",
    "avg_pool2d": "AveragePool",
    "native_dropout": "Dropout",
    "embedding": "Gather",
    "gather": "Gather",
    "index_select": "Gather",
    "scatter": "Scatter",
    "scatter_add": "ScatterReduce",
    "scatter_reduce": "ScatterReduce",
    "slice": "Slice",
    "select": "Slice",
    "view": "Reshape",
    "_unsafe_view": "Reshape",
    "unsqueeze": "Unsqueeze",
    "squeeze": "Squeeze",
    "t": "Transpose",
    "transpose": "Transpose",
    "permute": "Transpose",
    "expand": "Expand",
    "cat": "Concat",
    "clone": "Identity",
    "alias": "Identity",
    "_to_copy": "Cast",
    "sum": "ReduceSum",
    "mean": "ReduceMean",
    "amax": "ReduceMax",
    "amin": "ReduceMin",
    "pow": "Pow",
    "where": "Where",
    "topk": "TopK",
    "bernoulli_": "RandomBernoulli",
    "rand": "RandomUniform",
    "randn": "RandomNormal",
    "uniform_": "RandomUniform",
    "normal_": "RandomNormal",
}
#: kernels of the host that torch records -> the op that the device runs
_HOST_KERNELS = {
    "mkldnn_rnn_layer": "lstm",
    "mkldnn_convolution": "convolution",
    "_scaled_dot_product_flash_attention_for_cpu": "scaled_dot_product_attention",
}
#: ops that give several pieces, each of which is a slice to the device compiler
_SPLITS = frozenset({"split", "split_with_sizes", "chunk", "unbind", "unsafe_split"})
#: losses that the device computes as one op and torch as several: the last of them takes the name
_LOSS_TYPES = {"l1_loss": "L1"}
_KIND_TYPES = {"nop": "Nop", "recomputation_checkpoint": "Checkpoint", "identity_loss": "IdentityLoss"}


def op_type(node: fx.Node) -> str:
    """The device compiler's word for what a node does."""
    if node.target is getitem:
        return "Slice"
    attributes = record_of(node).annotation.attributes
    # a program from a file may hold anything here
    kind, loss = (str(attributes.get(key, "")) for key in ("kind", "loss_function"))
    name = _torch_name(node)
    if (
        loss in _LOSS_TYPES
        and _is_part_of(node, loss)
        and not any(_is_part_of(user, loss) for user in node.users)
    ):
        return _LOSS_TYPES[loss]
    if kind in _KIND_TYPES and name == "alias":
        return _KIND_TYPES[kind]
    name = device_name(name)
    if name in _TYPES:
        return _TYPES[name]
    words = name.strip("_").removesuffix("_").split("_")
    return "".join(word[:1].upper() + word[1:] for word in words)


def device_name(name: str) -> str:
    """The name of an op or tensor without the host's kernel in it: `aten::lstm` for aten::mkldnn_rnn_layer."""
    for kernel, op in _HOST_KERNELS.items():
        if kernel in name:
            return name.replace(kernel, op)
    return name


def may_be_op(name: str) -> bool:
    """Whether an op of a captured program may have this name: that of a known op, perhaps with a number and modules."""
    if "/" in name or "::" in name:
        return True
    known = {each.partition("::")[2].partition(".")[0] for each in torch._C._dispatch_get_all_op_names()}
    known |= {device_name(each) for each in known}
    return name in known or (name.rpartition("_")[2].isdecimal() and name.rpartition("_")[0] in known)


def _is_part_of(node: fx.Node, loss: str) -> bool:
    """Whether `node` is one of the ops that a loss function is made of, in the forward pass."""
    if node.op != "call_function" or is_bookkeeping(node):
        return False
    record = record_of(node)
    return record.phase is Phase.FORWARD and record.annotation.attributes.get("loss_function") == loss


def _torch_name(node: fx.Node) -> str:
    target: Any = node.target
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.name.split("::")[-1]
    return str(getattr(target, "__name__", target))


def is_bookkeeping(node: fx.Node) -> bool:
    """Nodes that name a part of another node's result, or change nothing."""
    if node.target is getitem:
        source = node.args[0]
        return not (isinstance(source, fx.Node) and _torch_name(source) in _SPLITS)
    name = _torch_name(node)
    if name == "detach":
        return True
    if name == "slice":
        source = node.args[0]
        outputs = tensors_of(node)
        return (
            isinstance(source, fx.Node) and bool(outputs) and tensors_of(source)[0].shape == outputs[0].shape
        )
    return False


class Names:
    """Names of every op and tensor of one program."""

    def __init__(self, program: TorchProgram) -> None:
        self._program = program
        self.op_of: dict[fx.Node, str] = {}
        self.tensors: dict[str, fx.Node] = {}
        counts: Counter[str] = Counter()
        for node in program.step.graph.nodes:
            if node.op != "call_function" or is_bookkeeping(node):
                continue
            if _torch_name(node) in _SPLITS:
                continue  # each of its pieces is a slice
            record = record_of(node)
            prefix = "/".join((*record.annotation.scope, op_type(node)))
            if record.phase is Phase.BACKWARD:
                prefix = f"Gradient___{prefix}"
            base = f"{prefix}:0"
            name = base if not counts[base] else f"{base}/{counts[base]}"
            counts[base] += 1
            self.op_of[node] = name
            self.tensors[name] = node

    def all_tensors(self, state: list[str]) -> list[str]:
        """Every tensor name: inputs, parameters, activations, gradients, updated weights, optimizer tensors."""
        interface = self._program.interface
        names = [name if name else "input" for name in interface.inputs]
        names += [*interface.parameters, *interface.buffers, *self.tensors]
        if self._program.training:
            names.append("loss")
        names += [f"Gradient___{name}" for name in interface.gradients]
        names += [f"UpdatedVar___{name}" for name in interface.gradients]
        return names + state
