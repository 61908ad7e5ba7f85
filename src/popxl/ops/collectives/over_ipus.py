"""Reductions over the IPUs of one replica."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import UndefinedValue
from ...tensor import Tensor
from .._create import create_op, outputs_of
from .collectives import CollectiveOps, to_collective_op


def _reduce(
    ts: Sequence[Tensor],
    ipus: Sequence[int] | None,
    op: CollectiveOps,
    identical_inputs: bool = False,
    identical_grad_inputs: bool = False,
) -> list[Tensor]:
    to_collective_op(op)
    if ipus is None:
        try:
            ipus = [t.ipu for t in ts]
        except UndefinedValue as problem:
            raise ValueError(f"{problem} Say the IPUs of the tensors with `ipus`.") from problem
    if len(ts) != len(ipus):
        raise ValueError(f"There are {len(ts)} tensors and {len(ipus)} IPUs.")
    attributes = {
        "op": op,
        "ipus": list(ipus),
        "identical_inputs": identical_inputs,
        "identical_grad_inputs": identical_grad_inputs,
    }
    names = [f"all_reduce_out_{number}" for number in range(len(ts))]
    tensors = {f"t{number}": t for number, t in enumerate(ts)}
    return list(outputs_of(create_op("AllReduce", tensors, names, attributes, together=False)))


def all_reduce(
    ts: Sequence[Tensor], ipus: Sequence[int] | None = None, op: CollectiveOps = "add"
) -> list[Tensor]:
    """The reduced tensor on each IPU."""
    return _reduce(ts, ipus, op)


def all_reduce_identical_inputs(
    ts: Sequence[Tensor], ipus: Sequence[int] | None = None, op: CollectiveOps = "add"
) -> list[Tensor]:
    """Identical tensors as they are; their gradients are reduced."""
    return _reduce(ts, ipus, op, identical_inputs=True)


def all_reduce_identical_grad_inputs(
    ts: Sequence[Tensor], ipus: Sequence[int] | None = None, op: CollectiveOps = "add"
) -> list[Tensor]:
    """The reduced tensor on each IPU, whose gradients are identical and stay as they are."""
    return _reduce(ts, ipus, op, identical_grad_inputs=True)
