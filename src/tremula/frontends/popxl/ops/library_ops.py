"""Operators of C++ libraries in PopXL graphs, and the gradient operators that they define."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from torch import Tensor, empty

from tremula.errors import Error
from tremula.frontends.poplar.user_ops.popart_ops import Gradient, Operator, Original
from tremula.frontends.poplar.user_ops.tensors import TensorFacts, for_device
from tremula.frontends.popxl.elements import ELEMENTS, to_array, to_carrier
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.gradients import Forward
from tremula.frontends.popxl.ops.table import Function, kernel
from tremula.frontends.torch.ops.library import add_op

KIND, GRADIENT_KIND = "LibraryOp", "LibraryOpGrad"
#: attributes: the operator of the library; of a gradient the op that it belongs to, and which of its gradients it is
ORIGINAL, FORWARD, NUMBER = "original", "forward", "number"


@contextmanager
def _errors_of_graphs(original: object) -> Iterator[None]:
    """Raise errors of the library as those of graphs, which programs catch."""
    try:
        yield
    except Error as problem:
        raise graph_error(problem.message) from problem
    except TypeError as problem:
        raise graph_error(f"the custom op {original}: {problem}") from problem


def operator_of(op: Op | Forward) -> Operator:
    """What computes an op of a library.

    Raises:
        Error: it does not take these inputs, or does not give these outputs.
    """
    original: Original = op.attributes[ORIGINAL]
    with _errors_of_graphs(original):
        inputs = {index: _facts(tensor.type) for index, tensor in op.inputs.items()}
        return original.operator(inputs, list(op.outputs))


def gradients_of(op: Op | Forward) -> list[Gradient]:
    """What computes its gradients.

    Raises:
        Error: as for the op itself.
    """
    operator = operator_of(op)
    with _errors_of_graphs(operator.name):
        return operator.gradients


def _gradient_of(op: Op) -> Operator:
    number: int = op.attributes[NUMBER]
    return gradients_of(op.attributes[FORWARD])[number]


def _facts(info: TensorInfo) -> TensorFacts:
    return TensorFacts(for_device(np.empty(0, ELEMENTS[info.dtype].array)).dtype, info.shape)


def _infos(operator: Operator, op: Op) -> dict[int, TensorInfo]:
    return {
        index: TensorInfo(facts.dtype.name, facts.shape)
        for index, facts in zip(sorted(op.outputs), operator.outputs, strict=True)
    }


class _Run:
    """One op that runs."""

    def __init__(self, operator: Operator, op: Op) -> None:
        self.operator = operator
        self.inputs = [tensor.type for tensor in op.input_list]
        self.outputs = [tensor.type for tensor in op.output_list]
        self.number = next(_numbers)
        _runs[self.number] = self

    def __call__(self, *tensors: Tensor) -> list[Tensor]:
        # as an op of torch's, so that the chip model sees it
        found: list[Tensor] = library_op(list(tensors), self.operator.name, self.number)
        return found


_numbers = itertools.count()
_runs: weakref.WeakValueDictionary[int, _Run] = weakref.WeakValueDictionary()


def _computed(inputs: Sequence[Tensor], name: str, number: int) -> list[Tensor]:
    run = _runs[number]
    arrays = [to_array(each, info.dtype) for each, info in zip(inputs, run.inputs, strict=True)]
    with _errors_of_graphs(run.operator.name):
        results = run.operator.run(arrays)
    return [to_carrier(each, info.dtype) for each, info in zip(results, run.outputs, strict=True)]


def _without_values(inputs: Sequence[Tensor], name: str, number: int) -> list[Tensor]:
    device = inputs[0].device if inputs else "meta"
    return [
        empty(info.shape, dtype=ELEMENTS[info.dtype].carrier, device=device) for info in _runs[number].outputs
    ]


library_op = add_op(
    "library_op(Tensor[] inputs, str name, int number) -> Tensor[]", _computed, _without_values
)


@kernel(KIND, infer=lambda op: _infos(operator_of(op), op))
def _forward(op: Op) -> Function:
    return _Run(operator_of(op), op)


@kernel(GRADIENT_KIND, infer=lambda op: _infos(_gradient_of(op), op))
def _gradient(op: Op) -> Function:
    return _Run(_gradient_of(op), op)
