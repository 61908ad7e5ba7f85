"""Weights of which groups of replicas have values of their own: the host's tensor has a dimension for the groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.model import OnnxModel

#: between the name of a weight and the number of a group, the first of which has none
_GROUP = "\0group "


@dataclass(frozen=True)
class WeightGroups:
    """The replicas of each group; `every` replica's copy comes back, or one of each group."""

    replicas: tuple[tuple[int, ...], ...]
    every: bool = False

    @property
    def split(self) -> bool:
        """Whether groups have values of their own."""
        return len(self.replicas) > 1

    def group_of(self, replica: int) -> int:
        return next(index for index, members in enumerate(self.replicas) if replica in members)

    def value(self, host: Tensor, group: int) -> Tensor:
        """The values of a group in the host's tensor."""
        return host[group] if self.split else host

    def gathered(self, by_replica: list[Tensor]) -> Tensor:
        """The host's tensor of what the replicas have."""
        if self.split:
            return torch.stack([by_replica[members[0]] for members in self.replicas])
        return by_replica[0]

    def returned(self, host: Tensor) -> Tensor:
        """What comes back of the host's tensor: one copy for each group, or for each replica."""
        if not self.every:
            return host
        count = sum(map(len, self.replicas))
        return torch.stack([self.value(host, self.group_of(replica)) for replica in range(count)])

    def taken(self, values: Tensor, host: Tensor) -> Tensor:
        """The host's tensor of values in the form that comes back, or in its own."""
        if not self.every or values.numel() == host.numel():
            return values.reshape(host.shape)
        copies = values.reshape(-1, *(host.shape[1:] if self.split else host.shape))
        return self.gathered(list(copies))


def key_of(name: str, groups: WeightGroups | None, replica: int) -> str:
    """What the optimizer calls the weight of a replica."""
    if groups is None or not groups.split:
        return name
    group = groups.group_of(replica)
    return name if group == 0 else f"{name}{_GROUP}{group}"


def weight_of(key: str) -> str:
    """The weight that an optimizer's name stands for."""
    return key.partition(_GROUP)[0]


def is_first(key: str) -> bool:
    """Whether an optimizer's tensor is one of a first group, whose name users know."""
    return _GROUP not in key


def on_replicas(model: OnnxModel, groups: Mapping[str, WeightGroups]) -> OnnxModel:
    """The model with weights as one replica has them.

    Raises:
        Error: a weight has not one value for each of its groups.
    """
    initializers = dict(model.graph.initializers)
    for name, own in groups.items():
        stored = initializers.get(name)
        if stored is None or not own.split:
            continue
        if not stored.shape or stored.shape[0] != len(own.replicas):
            raise Error(
                f"the weight {name} has the shape {list(stored.shape)}, but {len(own.replicas)} groups of replicas: "
                "its first dimension must have one value for each group."
            )
        initializers[name] = replace(stored, shape=stored.shape[1:], source=stored.tensor()[0].clone())
    return replace(model, graph=replace(model.graph, initializers=initializers))
