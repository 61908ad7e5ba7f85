"""Layers whose paths have slashes, as those of Keras: checkpoints find them."""

from __future__ import annotations

import pytest

from tremula.errors import Error
from tremula.program.op import Op, Phase
from tremula.program.program import Program
from tremula.program.tensor import Role, Tensor
from tremula.study.case import checkpoint_tensors


def chain(modules: list[str]) -> Program:
    """One op for each module, one after the other."""
    tensors = [Tensor("x", (4,), role=Role.INPUT)]
    ops = []
    for number, module in enumerate(modules):
        tensors.append(Tensor(f"{module}:0", (4,), producer=number, storage=number + 1, module=module))
        ops.append(Op(module, "Relu", Phase.FORWARD, (), (number,), (number + 1,), module=module))
    return Program(ops=ops, tensors=tensors, training=False, inputs=(0,), outputs=(len(modules),), samples=4)


def test_the_result_of_a_layer_is_that_of_the_last_op_inside_it() -> None:
    program = chain(["block/conv", "block/relu", "block_1/conv", "block_1/relu"])
    assert checkpoint_tensors(program, ("block", "block_1")) == {"block/relu:0", "block_1/relu:0"}


def test_a_layer_that_no_op_is_in_is_named() -> None:
    with pytest.raises(Error, match="block_2"):
        checkpoint_tensors(chain(["block/conv"]), ("block_2",))
