"""Collectives over replicas. One replica alone is what is computed here; the executor joins several."""

from __future__ import annotations

from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.table import GRAPHCORE, op


def _alone(call: Call) -> None:
    if call.settings.replicas != 1:
        raise Error(f"a collective over {call.settings.replicas} replicas inside a graph is not supported.")


@op("ReplicatedAllReduce", domain=GRAPHCORE)
def all_reduce(call: Call, tensor: Tensor, *_rest: Tensor) -> Tensor:
    _alone(call)
    return tensor


@op("ReplicatedReduceScatter", "ReplicatedAllGather", domain=GRAPHCORE)
def scatter_or_gather(call: Call, tensor: Tensor, *_rest: Tensor) -> Tensor:
    _alone(call)
    return tensor.reshape(-1)
