"""The weights on their way to the device: what the host sends before the first step, and how long that takes.

Bytes are those of the tensors that stay from step to step and have a value at the start; rates are those of transfers
of inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.estimate.estimate import Estimate
from tremula.program.tensor import Role
from tremula.schedule.host_io import call_time
from tremula.schedule.replicas import is_sharded

_SENT = (Role.PARAMETER, Role.BUFFER, Role.STATE, Role.CONSTANT)


@dataclass(frozen=True)
class Upload:
    """What goes to the device before the first step."""

    cycles: float
    bytes_of_ipu: dict[int, int]


def upload(estimate: Estimate) -> Upload:
    """The weights of one replica."""
    program = estimate.program
    replicas = program.loops.replicas
    sizes = {ipu.ipu: 0 for ipu in estimate.memory.ipus}
    for number, tensor in enumerate(program.tensors):
        if tensor.role in _SENT and tensor.storage == number:
            size = tensor.bytes
            if tensor.role is Role.STATE and is_sharded(
                tensor, estimate.deployment.optimizer_state, replicas
            ):
                size = -(-size // replicas)
            sizes[tensor.ipu] = sizes.get(tensor.ipu, 0) + size
    call = call_time(
        0.0, sum(sizes.values()), 0.0,
        system=estimate.system, replicas=replicas, ipus_per_replica=estimate.deployment.ipus_per_replica,
        prefetch_depth=0, call_seconds=0.0,
    )  # fmt: skip
    return Upload(call.seconds * estimate.chip.clock_hz, sizes)
