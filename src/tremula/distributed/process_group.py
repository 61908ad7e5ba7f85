"""The instances that train one model, from the meeting before it is compiled to the sums of its gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tremula.distributed import collectives, consistency, independent_models, protocol, rendezvous
from tremula.distributed.collectives import Group
from tremula.distributed.instances import Instances


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


class ProcessGroup:
    """This instance and the others. All of them make the same calls in the same order.

    Raises Error if they do not come together in time.
    """

    def __init__(self, instances: Instances) -> None:
        rendezvous.write_note(protocol.NOTE_DISTRIBUTED)
        self._group = collectives.whole(instances.index, instances.count, instances.timeout)
        independent_models.add_distributed_compilation()

    def agree_on_model(
        self,
        label: str,
        parameters: Mapping[str, torch.Tensor],
        buffers: Mapping[str, torch.Tensor],
        inputs: Sequence[torch.Tensor],
        settings: Mapping[str, str],
    ) -> None:
        """Raise Error on all instances unless they are about to compile the same model; it says which differ."""
        consistency.require_same(
            self._group,
            {
                "model": label,
                "parameters": {name: _described(tensor) for name, tensor in parameters.items()},
                "buffers": {name: _described(tensor) for name, tensor in buffers.items()},
                "inputs (one micro-batch)": {str(i): _described(tensor) for i, tensor in enumerate(inputs)},
                "settings": dict(settings),
            },
        )

    def agree_on_gradients(self, names: Sequence[Sequence[str]]) -> None:
        """Raise Error on all instances unless they compute gradients of the same parameters, in the same order."""
        consistency.require_same(self._group, {"gradients, as they are computed": names})

    def share(self, tensors: Sequence[torch.Tensor]) -> None:
        """Overwrite weights and buffers with those of instance 0."""
        consistency.broadcast_tensors(self._group, tensors)

    def common_seed(self, own: int) -> int:
        """The seed of instance 0."""
        return consistency.broadcast_number(self._group, own)

    def reduction(self) -> GradientReduction:
        """What sums gradients over the instances."""
        return GradientReduction(self._group)


def _described(tensor: torch.Tensor) -> str:
    return f"{list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
