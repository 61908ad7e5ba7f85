"""An ONNX file that can be asked about: no weight is read, and nothing in the file is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import torch
from torch import nn

from tremula.errors import Error
from tremula.frontends.onnx.advice_code import OnnxCode
from tremula.frontends.onnx.losses import OwnLoss, WithLoss, target_type
from tremula.frontends.onnx.model import OnnxModel
from tremula.frontends.onnx.module import OnnxModule
from tremula.frontends.onnx.shapes import TensorType, input_types, open_dimensions, shapes_of
from tremula.frontends.torch.factory import Made, subject_of
from tremula.frontends.torch.subject import TorchSubject


@dataclass(frozen=True)
class Request:
    """What is said of a file besides its name."""

    #: None: if a loss or an optimizer is given
    training: bool | None = None
    optimizer: str | None = None
    #: a loss by name (losses.py), or the output that is the loss
    loss: str | None = None
    #: whole shapes by input
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    #: numbers for dimensions that the file leaves open, by their names
    dimensions: Mapping[str, int] = field(default_factory=dict)
    #: keep weights and make inputs, to run it
    values: bool = False


def subject_of_file(path: str | PathLike[str], request: Request | None = None) -> TorchSubject:
    """The model in an ONNX file.

    The first dimension of inputs, where the file leaves it open, is 1: the micro-batch, which can be asked about.

    Raises:
        Error: the file cannot be read, has operators that are not known, or leaves open what must be known.
    """
    request = request or Request()
    model = OnnxModel.load(path)
    given = _with_batch(model, request)
    inputs = input_types(model, request.shapes, given)
    training = request.training
    if training is None:
        training = request.loss is not None or request.optimizer is not None
    module, types = _module(model, inputs, request, training)
    made = Made(module, tuple(_example(each, request.values) for each in types), {}, None)
    return subject_of(
        made,
        Path(path).stem,
        training=training,
        optimizer=request.optimizer if training else None,
        values=request.values,
        dialect=OnnxCode,
    )


def _with_batch(model: OnnxModel, request: Request) -> dict[str, int]:
    """The numbers for open dimensions; those that begin an input are 1 unless they are given."""
    given = dict(request.dimensions)
    known = open_dimensions(model)
    wrong = [name for name in given if name not in known]
    if wrong:
        names = ", ".join(known) or "none"
        raise Error(f"the model leaves no dimension called {wrong[0]} open; those that are open: {names}.")
    for value in model.graph.inputs:
        if value.shape and not isinstance(value.shape[0], int):
            given.setdefault(value.shape[0] or f"{value.name}.0", 1)
    return given


def _module(
    model: OnnxModel, inputs: Mapping[str, TensorType], request: Request, training: bool
) -> tuple[nn.Module, list[TensorType]]:
    types = list(inputs.values())
    if not training:
        return OnnxModule(model, values=request.values), types
    outputs = [each.name for each in model.graph.outputs]
    if request.loss in outputs:
        return OwnLoss(model, values=request.values, outputs=[request.loss]), types
    found = shapes_of(model.graph, inputs, functions=model.functions)
    if request.loss is None:
        single = [name for name in outputs if found[name].dtype.is_floating_point and not found[name].shape]
        if not single:
            raise Error(
                "to train an ONNX model a loss is needed: name one (cross_entropy, nll, mse, l1, bce)."
            )
        return OwnLoss(model, values=request.values, outputs=single[:1]), types
    target = target_type(request.loss, found[outputs[0]])
    module = WithLoss(model, values=request.values, outputs=outputs[:1])
    module.loss = request.loss
    return module, [*types, target]


def _example(kind: TensorType, values: bool) -> torch.Tensor:
    if not values:
        return torch.empty(kind.shape, dtype=kind.dtype, device="meta")
    if kind.dtype.is_floating_point:
        return torch.randn(kind.shape).to(kind.dtype)
    return torch.zeros(kind.shape, dtype=kind.dtype)
