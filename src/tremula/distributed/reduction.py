"""Gradients summed over the instances of a run."""

from __future__ import annotations

from typing import Any

import torch

from tremula.distributed.collectives import Group


class GradientReduction:
    """Sums buckets of gradients over a group, in the order in which they are given."""

    def __init__(self, group: Group) -> None:
        self.instances = group.size
        self._group = group
        self._under_way: list[Any] = []

    def start(self, bucket: torch.Tensor) -> None:
        """Begin to replace a bucket by the sum over all instances."""
        self._under_way.append(self._group.start_sum(bucket))

    def finish(self) -> None:
        """Wait until all buckets are summed; raises Error if an instance is missing."""
        under_way, self._under_way = self._under_way, []
        for work in under_way:
            self._group.wait(work)
