"""ONNX models: bytes changed, and fields of the message changed so that it still parses."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

from fuzz.mutations import flip_bytes
from fuzz.target import Target

_NUMBERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))
_TEXTS = (
    "",
    "x",
    "../../outside",
    "/etc/passwd",
    "\x1b[2J",
    "a" * 5000,
    "w",
    "y",
    "Loop",
    "ai.graphcore",
    "Reshape",
)


def make(folder: Path) -> list[Path]:
    """Small models: a network, a loop with inner graphs, shapes that are computed, data in another file."""
    paths = []
    for name, model in (
        ("network", _network()),
        ("loop", _loop()),
        ("lstm", _lstm()),
        ("outside", _outside()),
    ):
        path = folder / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        paths.append(path)
    return paths


def _value(name: str, shape: list[int | str] | None, kind: int | None = None) -> Any:
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, TensorProto.FLOAT if kind is None else kind, shape)


def _node(*arguments: Any, **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(*arguments, **attributes)


def _model(nodes: list[Any], inputs: list[Any], weights: dict[str, Any]) -> Any:
    from onnx import helper, numpy_helper

    stored = [numpy_helper.from_array(w, n) for n, w in weights.items()]
    graph = helper.make_graph(nodes, "main", inputs, [_value("y", None)], stored)
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("ai.graphcore", 1)]
    return helper.make_model(graph, opset_imports=opsets)


def _network() -> Any:
    import numpy as np

    return _model(
        [
            _node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[1, 1]),
            _node("Relu", ["c"], ["r"]),
            _node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            _node("Resize", ["p", "", "scales"], ["s"], mode="linear"),
            _node("Reshape", ["s", "shape"], ["y"]),
        ],
        [_value("x", ["batch", 2, 4, 4])],
        {
            "w": np.ones((3, 2, 3, 3), np.float32),
            "scales": np.array([1, 1, 2, 2], np.float32),
            "shape": np.array([0, -1], np.int64),
        },
    )


def _loop() -> Any:
    import numpy as np
    from onnx import TensorProto, helper

    body = helper.make_graph(
        [_node("Add", ["h", "w"], ["h2"]), _node("Identity", ["go"], ["go2"])],
        "body",
        [_value("i", [], TensorProto.INT64), _value("go", [], TensorProto.BOOL), _value("h", [2])],
        [_value("go2", [], TensorProto.BOOL), _value("h2", [2])],
    )
    return _model(
        [
            _node("Loop", ["turns", "", "x"], ["l"], body=body),
            _node("ConstantOfShape", ["size"], ["z"]),
            _node("Concat", ["l", "z"], ["c"], axis=0),
            _node("Tile", ["c", "turns"], ["t"]),
            _node("IdentityLoss", ["t"], ["y"], domain="ai.graphcore", reduction="Sum"),
        ],
        [_value("x", [2])],
        {
            "w": np.ones(2, np.float32),
            "turns": np.array([3], np.int64),
            "size": np.array([4], np.int64),
        },
    )


def _lstm() -> Any:
    import numpy as np

    return _model(
        [_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=3)],
        [_value("x", [5, "batch", 2])],
        {"w": np.ones((1, 12, 2), np.float32), "r": np.ones((1, 12, 3), np.float32)},
    )


def _outside() -> Any:
    """The weight is in a file beside the model."""
    import numpy as np
    from onnx import TensorProto

    model = _model(
        [_node("MatMul", ["x", "w"], ["y"])], [_value("x", [2, 4])], {"w": np.ones((4, 4), np.float32)}
    )
    (weight,) = model.graph.initializer
    weight.data_location = TensorProto.EXTERNAL
    weight.ClearField("raw_data")
    for key, text in (("location", "weights.bin"), ("offset", "0"), ("length", "64")):
        weight.external_data.add(key=key, value=text)
    return model


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Bytes changed, or one to three fields of the message."""
    if rng.random() < 0.3:
        return flip_bytes(data, rng)
    import onnx

    message = onnx.ModelProto()
    message.ParseFromString(data)
    for _ in range(rng.randint(1, 3)):
        _change(message, rng)
    return bytes(message.SerializeToString())


def _change(message: Any, rng: random.Random) -> None:
    """Another value in some field, at any depth."""
    while True:
        fields = message.ListFields()
        if not fields:
            return
        descriptor, value = rng.choice(fields)
        repeated = hasattr(value, "append") or hasattr(value, "add")
        if repeated and len(value):
            kind = rng.randrange(4)
            place = rng.randrange(len(value))
            if kind == 0:
                del value[place]
                return
            if kind == 1 and not hasattr(value[place], "ListFields"):
                with contextlib.suppress(ValueError):
                    value[place] = _other(value[place], rng)
                return
            if kind == 2:
                value.append(value[place]) if hasattr(value, "append") else None
                return
            if not hasattr(value[place], "ListFields"):
                return
            message = value[place]
        elif hasattr(value, "ListFields"):
            if rng.random() < 0.1:
                message.ClearField(descriptor.name)
                return
            message = value
        else:
            if rng.random() < 0.1:
                message.ClearField(descriptor.name)
            else:
                with contextlib.suppress(ValueError):  # the field holds 32 bits
                    setattr(message, descriptor.name, _other(value, rng))
            return


def _other(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(_NUMBERS)
    if isinstance(value, float):
        return rng.choice((0.0, -1.0, 1e30, float("nan"), float("inf")))
    if isinstance(value, bytes):
        return flip_bytes(value, rng)
    return rng.choice(_TEXTS)


def read(path: Path) -> None:
    """As `tremula estimate` does: the model, and the shapes of all tensors."""
    from tremula.frontends.onnx.model import OnnxModel
    from tremula.frontends.onnx.shapes import input_types, open_dimensions, shapes_of

    weights = path.parent / "weights.bin"
    if not weights.exists():
        weights.write_bytes(bytes(64))
    model = OnnxModel.load(path)
    types = input_types(model, None, dict.fromkeys(open_dimensions(model), 1))
    shapes_of(model.graph, types, functions=model.functions)
    for stored in model.graph.initializers.values():
        if stored.size_bytes < 2**20:
            stored.tensor()


def refusals() -> tuple[type[BaseException], ...]:
    """The engine's own error."""
    from tremula.errors import Error

    return (Error,)


ONNX = Target("onnx", make, mutate, read, refusals, names_file=False)
