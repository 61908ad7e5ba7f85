"""What the graph compiler refuses and ONNX allows: checked node by node when a program is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from tremula.frontends.onnx.dtypes import element_type, type_of
from tremula.frontends.onnx.failing import KnownError
from tremula.frontends.onnx.model import STANDARD, Node
from tremula.frontends.onnx.placing import SERIAL

GRAPHCORE = "ai.graphcore"
Inputs = Sequence["Tensor | None"]
Check = Callable[[Node, Inputs, bool], None]

_ACTIVATIONS = ("sigmoid", "relu", "tanh", "softmax", "softmaxstable", "softmaxscaled", "hardsigmoid")
_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow", "Equal", "Greater", "Less", "And", "Or", "Xor", "Mod")
_UNSUPPORTED = ("The data type DOUBLE is not supported in Poplar", "Unsupported data type requested")
_REDUCTIONS = tuple(
    f"Reduce{name}"
    for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
)


def check(node: Node, inputs: Inputs, training: bool) -> None:
    """Raises KnownError: the device does not have it."""
    found = _CHECKS.get((node.domain, node.type))
    if found is not None:
        found(node, inputs, training)


def operator(node: Node) -> str:
    """Domain, type and version of a node's operator."""
    version = node.version
    if node.domain == STANDARD:
        import onnx

        version = onnx.defs.get_schema(node.type, version).since_version
    return f"{node.domain}.{node.type}:{version}"


def described(node: Node) -> str:
    """A node as users of the compiler know it."""
    inputs, outputs = ", ".join(node.inputs), ", ".join(node.outputs)
    return f"Op({operator(node)}, inputs=[{inputs}], outputs=[{outputs}])"


def listed(shape: Sequence[int]) -> str:
    """A shape as users of the compiler know it."""
    return f"[{' '.join(map(str, shape))}]"


def _given(inputs: Inputs, place: int) -> Tensor | None:
    return inputs[place] if place < len(inputs) else None


def _axes(node: Node, inputs: Inputs, training: bool) -> None:
    tensor = _given(inputs, 0)
    axes = node.attributes.get("axes")
    if tensor is None or not isinstance(axes, tuple) or not tensor.dim():
        return
    for axis in axes:
        if not -tensor.dim() <= axis < tensor.dim():
            raise KnownError(f"Axis {axis} is out of acceptable range [{-tensor.dim()}, {tensor.dim() - 1}]")


def _arithmetic(node: Node, inputs: Inputs, training: bool) -> None:
    first, second = _given(inputs, 0), _given(inputs, 1)
    if first is None or second is None:
        return
    kinds = {first.dtype, second.dtype}
    if kinds == {torch.float16, torch.float32} and first.numel() > 1 and second.numel() > 1:
        names = " and ".join(type_of(each.dtype).name for each in (first, second))
        shapes = " and ".join(listed(each.shape) for each in (first, second))
        raise KnownError(f"{described(node)} has incompatible types {names} (shapes {shapes})")
    if node.version < 7:
        return
    pairs = zip(reversed(first.shape), reversed(second.shape), strict=False)
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        frames = " and ".join(str(list(each.shape)) for each in (first, second))
        raise KnownError(f"np broadcasting failed on '{described(node)}', frames {frames} are not aligned")


def _product(node: Node, inputs: Inputs, training: bool) -> None:
    first, second = _given(inputs, 0), _given(inputs, 1)
    if first is None or second is None:
        return
    for side, tensor in (("lhs", first), ("rhs", second)):
        if not tensor.dim():
            raise KnownError(f"{described(node)} doesn't support scalar tensor input as the {side} input")
    inner = second.shape[-2] if second.dim() > 1 else second.shape[0]
    if first.shape[-1] != inner:
        sides = (
            f"{side} '{name}' {listed(tensor.shape)}"
            for side, name, tensor in zip(("lhs", "rhs"), node.inputs, (first, second), strict=False)
        )
        raise KnownError(f"{described(node)} contracting dimensions unequal: {', '.join(sides)}")
    _parts(node, first, second)


def _parts(node: Node, first: Tensor, second: Tensor) -> None:
    """A product in parts (`setSerializeMatMul`): their number divides the dimension that is cut."""
    mode, factor = (node.attributes.get(name) for name in SERIAL[:2])
    extents = {
        "input_channels": first.shape[-2] if first.dim() > 1 else 1,
        "reducing_dim": first.shape[-1],
        "output_channels": second.shape[-1] if second.dim() > 1 else 1,
    }
    if mode in extents and isinstance(factor, int) and (factor < 1 or extents[mode] % factor):
        words = mode.replace("_", " ")
        raise KnownError(
            f"Invalid serialisation factor {factor} for {words} dim {extents[mode]}: the factor must divide it. "
            f"setSerializeMatMul was called for {described(node)}"
        )


def _random(node: Node, inputs: Inputs, training: bool) -> None:
    if "seed" in node.attributes:
        raise KnownError(
            f"{operator(node)}: Optional seed attribute is not supported. Use session::setRandomSeed instead."
        )
    number, source = node.attributes.get("dtype"), _given(inputs, 0)
    kind = source.dtype if source is not None else torch.float32
    if isinstance(number, int):
        kind = element_type(number).torch
    if kind is torch.float64:
        raise KnownError(f"{operator(node)}: {_UNSUPPORTED[node.type.endswith('Like')]}")


def _max_pool(node: Node, inputs: Inputs, training: bool) -> None:
    dilations = node.attributes.get("dilations", ())
    if isinstance(dilations, tuple) and any(each != 1 for each in dilations):
        raise KnownError(
            f"MaxPool has dilations {listed(dilations)}. Dilations of value other than 1 are currently not supported."
        )


def _average_pool(node: Node, inputs: Inputs, training: bool) -> None:
    if node.attributes.get("count_include_pad", 0):
        raise KnownError("`count_include_pad` is not supported")


def _recurrent(node: Node, inputs: Inputs, training: bool) -> None:
    chosen = node.attributes.get("activations", ())
    for name in chosen if isinstance(chosen, tuple) else ():
        if str(name).lower() not in _ACTIVATIONS:
            raise KnownError(f"Activation type '{name}' is not supported for {described(node)}")


def _rnn(node: Node, inputs: Inputs, training: bool) -> None:
    chosen = node.attributes.get("activations", ())
    _recurrent(node, inputs, training)
    if isinstance(chosen, tuple) and len(chosen) != 1 and "activations" in node.attributes:
        raise KnownError(f"{described(node)} only supports 1 activation, {len(chosen)} were specified")
    for name in ("activation_alpha", "activation_beta", "clip"):
        if name in node.attributes:
            raise KnownError(f"Attribute `{name}' of {described(node)} is not supported")
    if node.attributes.get("direction", "forward") != "forward":
        raise KnownError(f"{described(node)} only supports `forward' direction")
    recurrent, said = _given(inputs, 2), node.attributes.get("hidden_size")
    if recurrent is not None and said is not None and said != recurrent.shape[-1]:
        raise KnownError(
            f"{described(node)}: hidden_size {said} does not match that of the weights, {recurrent.shape[-1]}"
        )


def _batch_norm(node: Node, inputs: Inputs, training: bool) -> None:
    tensor = _given(inputs, 0)
    if tensor is None:
        return
    if tensor.dim() < 3 and node.domain == STANDARD:
        raise KnownError(f"batch norm requires X to have a rank >= 3.  x has rank {tensor.dim()}")
    spatial = bool(node.attributes.get("spatial", 1))
    wanted = list(tensor.shape[1:2] if spatial else tensor.shape[1:])
    for name, given in zip(("scale", "B", "mean", "var"), inputs[1:], strict=False):
        if given is not None and list(given.shape) != wanted:
            raise KnownError(
                f"expected shape of batch norm input tensor {name} ({listed(given.shape)}) to be {listed(wanted)} to "
                f"match X ({listed(tensor.shape)})"
            )


def _reverse(node: Node, inputs: Inputs, training: bool) -> None:
    tensor, dims = _given(inputs, 0), node.attributes.get("dimensions", ())
    if tensor is None or not isinstance(dims, tuple):
        return
    for place, dim in enumerate(dims):
        if dim < 0:
            raise KnownError(f"invalid dimension '{dim}'. Only positive dimensions are supported")
        if dim >= tensor.dim():
            raise KnownError(f"invalid dimension '{dim}' for input tensor of rank {tensor.dim()}")
        if dim in dims[:place]:
            raise KnownError(f"Dimension {dim} appears multiple times in {listed(dims)}")


def _tile(node: Node, inputs: Inputs, training: bool) -> None:
    tensor, repeats = _given(inputs, 0), _given(inputs, 1)
    if tensor is None or repeats is None or isinstance(repeats, FakeTensor) or node.version < 6:
        return
    if repeats.numel() != tensor.dim():
        raise KnownError(
            f"'Repeats' tensor `{node.inputs[1]}' should have one element for each dimension of the data tensor"
        )
    counts = [int(each) for each in repeats.tolist()]
    if any(each < 0 for each in counts):
        raise KnownError(
            f"the repeats {counts} make no shape. Values must be non-negative in each shape dimension."
        )


def _reshape(node: Node, inputs: Inputs, training: bool) -> None:
    shape = _given(inputs, 1)
    if shape is None or isinstance(shape, FakeTensor):
        return
    if shape.tolist().count(-1) > 1:
        raise KnownError("shape input to ReshapeOp can only use -1 to specify one unknown dimension")


def _expand(node: Node, inputs: Inputs, training: bool) -> None:
    tensor, shape = _given(inputs, 0), _given(inputs, 1)
    if tensor is None or shape is None or isinstance(shape, FakeTensor):
        return
    pairs = zip(reversed(tensor.shape), reversed(shape.tolist()), strict=False)
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        raise KnownError(
            f"{list(tensor.shape)} cannot be expanded to {shape.tolist()}: corresponding dimensions must have the "
            "same value or one of them must be 1"
        )


def _shaped_dropout(node: Node, inputs: Inputs, training: bool) -> None:
    tensor, shape = _given(inputs, 0), node.attributes.get("shape", ())
    if tensor is None or not isinstance(shape, tuple):
        return
    pairs = zip(reversed(tensor.shape), reversed(shape), strict=False)
    if len(shape) > tensor.dim() or any(a != b and b != 1 for a, b in pairs):
        raise KnownError(
            f"ShapedDropout: incompatible input tensor and dropout shape. {listed(shape)} does not broadcast to "
            f"{listed(tensor.shape)}."
        )


def _scatter(node: Node, inputs: Inputs, training: bool) -> None:
    source, index = _given(inputs, 0), _given(inputs, 1)
    axis, size = node.attributes.get("axis", -1), node.attributes.get("axis_size", 1)
    if source is None or index is None or not isinstance(axis, int) or not isinstance(size, int):
        return
    rank = source.dim()
    if not -rank <= axis < rank:
        raise KnownError(f"axis = {axis} is outside the acceptable range [{-rank}, {rank - 1}]")
    if size < 1:
        raise KnownError(f"axis_size = {size} is not valid: it must be greater than 0")
    if index.dim() > rank:
        raise KnownError(f"Invalid rank for indices input. It is {index.dim()}, and that of the data {rank}.")
    if index.dim() < rank or not node.attributes.get("enable_index_broadcast", 1):
        return
    if any(a not in (1, b) for a, b in zip(index.shape, source.shape, strict=True)):
        raise KnownError(f"Failed to expand 'indices' shape {listed(index.shape)} to {listed(source.shape)}")
    along = {axis % rank} | ({0} if int(str(node.attributes.get("group_size", 1))) > 1 else set())
    if index.shape != source.shape and any(
        extent > 1 for dim, extent in enumerate(index.shape) if dim not in along
    ):
        raise KnownError("Partial broadcasting of indices is not currently supported")


def _labels(node: Node, inputs: Inputs, training: bool) -> None:
    tensor, labels = _given(inputs, 0), _given(inputs, 1)
    if tensor is not None and labels is not None and tensor.shape[:-1] != labels.shape:
        raise KnownError(
            f"The label tensor ({_info(labels)}) must have shape {listed(tensor.shape[:-1])} to match all but the "
            f"final dimension of the probabilities tensor ({_info(tensor)})"
        )


def _info(tensor: Tensor) -> str:
    return f"{type_of(tensor.dtype).name:8}{listed(tensor.shape)}"


def _ratio(node: Node, inputs: Inputs, training: bool) -> None:
    ratio = node.attributes.get("ratio", 0.5)
    if isinstance(ratio, float) and not 0.0 <= ratio < 1.0:
        raise KnownError(
            f"{operator(node)} ratio value {ratio} is not valid. Please use a value in the interval [0,1)"
        )


def _dropout_of_shape(node: Node, inputs: Inputs, training: bool) -> None:
    _ratio(node, inputs, training)
    _shaped_dropout(node, inputs, training)


_CHECKS: dict[tuple[str, str], Check] = {
    **{(STANDARD, name): _axes for name in _REDUCTIONS},
    **{(STANDARD, name): _arithmetic for name in _ARITHMETIC},
    **{(STANDARD, f"Random{name}"): _random for name in ("Normal", "NormalLike", "Uniform", "UniformLike")},
    (STANDARD, "MatMul"): _product,
    (STANDARD, "MaxPool"): _max_pool,
    (STANDARD, "AveragePool"): _average_pool,
    (STANDARD, "RNN"): _rnn,
    (STANDARD, "LSTM"): _recurrent,
    (STANDARD, "GRU"): _recurrent,
    (STANDARD, "BatchNormalization"): _batch_norm,
    (STANDARD, "Tile"): _tile,
    (STANDARD, "Reshape"): _reshape,
    (STANDARD, "Expand"): _expand,
    (STANDARD, "Dropout"): _ratio,
    (GRAPHCORE, "BatchNormalization"): _batch_norm,
    (GRAPHCORE, "ReduceMedian"): _axes,
    (GRAPHCORE, "Reverse"): _reverse,
    (GRAPHCORE, "ShapedDropout"): _dropout_of_shape,
    (GRAPHCORE, "Nll"): _labels,
    (GRAPHCORE, "ScatterReduce"): _scatter,
}
