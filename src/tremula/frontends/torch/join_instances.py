"""Meeting the other instances that train a model: the same model, the same weights, random streams of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from tremula.errors import Error
from tremula.frontends.torch.capture.state import StateSlots
from tremula.frontends.torch.execute.random_state import RandomState, fresh_seed
from tremula.frontends.torch.optimize.spec import OptimizerSpec
from tremula.frontends.torch.settings import SessionSettings

if TYPE_CHECKING:
    from tremula.distributed.process_group import ProcessGroup


def join(
    settings: SessionSettings,
    spec: OptimizerSpec | None,
    module: torch.nn.Module,
    inputs: Sequence[torch.Tensor],
) -> ProcessGroup | None:
    """The process group of all instances, which begin with the same weights; None if there is one instance."""
    if not settings.training or settings.instances.count == 1:
        return None
    # imported here, because it takes a moment and a run of one instance does not need it
    from tremula.distributed.process_group import ProcessGroup

    if settings.groupings:
        raise Error(
            f"{', '.join(settings.groupings)}: replicaGrouping() is not supported in a run of several instances "
            f"(there are {settings.instances.count}): groups would reach over them. Run all replicas in one "
            "instance."
        )
    group = ProcessGroup(settings.instances)
    slots = StateSlots(module)
    tensors = slots.tensors()
    group.agree_on_model(
        settings.execution.label,
        {name: tensors[name] for name in slots.parameter_names},
        {name: tensors[name] for name in slots.buffer_names},
        inputs,
        {
            "loops": str(settings.loops),
            "optimizer": "none" if spec is None else spec.kind.name,
            "reduction": f"mean {settings.mean_reduction}, running {settings.running_mean}",
        },
    )
    group.share(list(tensors.values()))
    return group


def random_state(settings: SessionSettings, group: ProcessGroup | None) -> RandomState:
    """The random streams of this instance's replicas."""
    seed, replicas = settings.seed, settings.loops.replicas
    if group is None:
        return RandomState(seed, replicas)
    common = group.common_seed(fresh_seed() if seed is None else seed)
    first = settings.instances.index * replicas
    return RandomState(common if seed is None else seed, replicas, first, common)
