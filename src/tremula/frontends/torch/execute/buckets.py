"""Gradients of several instances: accumulators are views into flat buckets in the order of the backward pass, each
summed in one go without a copy. The first is small, to send early; sizes are those of torch's data parallelism.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from tremula.frontends.torch.graphs.program import TorchProgram

_FIRST_BYTES = 1 << 20
_BYTES = 25 << 20
#: each gradient begins at a multiple of this, where vector instructions like it
_ALIGNED_BYTES = 64


class Reduction(Protocol):
    """Sums buckets over the instances of a run; all of them give the same buckets in the same order."""

    instances: int

    def start(self, bucket: torch.Tensor) -> None:
        """Begin to replace a bucket by its sum over all instances; it is not to be touched until `finish`."""

    def finish(self) -> None:
        """Until all that was begun is done."""


def bucket_members(program: TorchProgram, dtypes: Sequence[torch.dtype]) -> list[list[int]]:
    """Which gradients, by their position in the interface, lie together; the step graph says when each is ready."""
    names = program.interface.gradients
    nodes = list(program.step.graph.nodes)
    places = {node: place for place, node in enumerate(nodes)}
    outputs = nodes[-1].args[0]
    ready = [places[node] for node in outputs[len(outputs) - len(names) :]] if names else []
    sizes = [
        outputs[len(outputs) - len(names) + i].meta["val"].numel() * dtypes[i].itemsize
        for i in range(len(names))
    ]
    buckets: list[list[int]] = []
    filled = limit = 0
    for i in sorted(range(len(names)), key=lambda i: (ready[i], i)):
        if not buckets or filled >= limit or dtypes[i] != dtypes[buckets[-1][0]]:
            limit = _BYTES if buckets else _FIRST_BYTES
            buckets.append([])
            filled = 0
        buckets[-1].append(i)
        filled += sizes[i]
    return buckets


class Buckets:
    """Flat memory for the accumulators of `trained`, in the groups that `bucket_members` found."""

    def __init__(
        self,
        members: Sequence[Sequence[int]],
        trained: Sequence[torch.Tensor],
        dtypes: Sequence[torch.dtype],
    ) -> None:
        self.members = [list(each) for each in members]
        self.flat: list[torch.Tensor] = []
        views: dict[int, torch.Tensor] = {}
        for bucket in self.members:
            dtype = dtypes[bucket[0]]
            step = _ALIGNED_BYTES // dtype.itemsize
            offsets = [0]
            for i in bucket:
                offsets.append(offsets[-1] + -(-trained[i].numel() // step) * step)
            flat = torch.zeros(offsets[-1], dtype=dtype)
            for i, offset in zip(bucket, offsets, strict=False):
                views[i] = flat.as_strided(trained[i].shape, trained[i].stride(), offset)
            self.flat.append(flat)
        #: accumulators in the order of the parameters
        self.views = [views[i] for i in range(len(trained))]

    def zero(self) -> None:
        """Begin anew."""
        for flat in self.flat:
            flat.zero_()

    def divide(self, divisor: float) -> None:
        """Every gradient by the same number."""
        if divisor != 1.0:
            for flat in self.flat:
                flat.div_(divisor)
