"""Parameters are placed with the first op that reads them; their state and updates are placed with them."""

from __future__ import annotations

from tremula.program.homes import homes, place
from tremula.program.op import Op, Phase
from tremula.program.tensor import Role, Tensor


def test_state_and_updates_are_placed_with_their_parameter() -> None:
    ops = [
        Op("first", "a", Phase.FORWARD, (), inputs=(0,), outputs=(3,), ipu=0),
        Op("second", "a", Phase.FORWARD, (), inputs=(3, 1), outputs=(4,), ipu=1),
        Op("again", "a", Phase.BACKWARD, (), inputs=(1, 0), outputs=(5,), ipu=0),
        Op("update", "a", Phase.UPDATE, (), inputs=(1, 2, 5), outputs=(6,), owner=1),
        Op("count", "a", Phase.UPDATE, (), inputs=(7,), outputs=(8,)),
    ]
    tensors = [
        Tensor("input", (1,), "fp32", Role.INPUT, storage=0),
        Tensor("weight", (1,), "fp32", Role.PARAMETER, storage=1),
        Tensor("momentum", (1,), "fp32", Role.STATE, storage=2, owner=1),
        Tensor("hidden", (1,), storage=3, producer=0),
        Tensor("result", (1,), storage=4, producer=1),
        Tensor("gradient", (1,), storage=5, producer=2),
        Tensor("new weight", (1,), storage=6, producer=3),
        Tensor("number of steps", (1,), "fp32", Role.SCALAR, storage=7),
        Tensor("next number", (1,), storage=8, producer=4),
    ]
    found = homes(ops, tensors)
    assert found.tensors == [0, 1, 1, 0, 1, 2, 3, -1, 4]
    assert found.ops == [-1, -1, -1, 1, -1]
    place(ops, tensors)
    assert [op.ipu for op in ops] == [0, 1, 0, 1, 0]
    assert [tensor.ipu for tensor in tensors] == [0, 1, 1, 0, 1, 0, 1, 0, 0]
