"""The module's parameters and buffers on the host, and copying them to and from the device's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from tremula import log
from tremula.execute.executable import Executable
from tremula.frontends.torch.dialect.device_words import DEVICE_LAYER


class HostWeights:
    """The state of one module; `outdated` if a call has changed the device's since, `version` counts copies."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self.outdated = False
        self.version = 0

    def tensors(self) -> dict[str, torch.Tensor]:
        """Parameters and buffers by name."""
        return {**dict(self._model.named_parameters()), **dict(self._model.named_buffers())}

    def to_host(self, executable: Executable[torch.Tensor]) -> None:
        """Copy from the device."""
        self.outdated = False  # first: the look at the module's state below must not copy again
        log.layer(DEVICE_LAYER).debug("Writing weights from IPU to host")
        try:
            host = self.tensors()
            with torch.no_grad():
                for name, value in executable.read_state().items():
                    if name in host:
                        torch.Tensor.copy_(host[name].detach(), value)
        except BaseException:
            self.outdated = True
            raise
        self.version += 1

    def to_device(self, executable: Executable[torch.Tensor], names: Iterable[str] | None = None) -> None:
        """Copy to the device, all of them or those called `names`."""
        self.outdated = False
        host = self.tensors()
        executable.write_state({name: host[name].detach() for name in (host if names is None else names)})


class GroupableParameter:
    """A parameter seen through the executor: adds `replicaGrouping`, forwards everything else."""

    def __init__(self, parameter: torch.nn.Parameter, name: str, groupings: dict[str, Any]) -> None:
        self._parameter = parameter
        self._name = name
        self._groupings = groupings

    def replicaGrouping(self, comm_group_type: Any, shards: int, variable_retrieval_mode: Any) -> None:
        """Give each group of `shards` replicas its own value. Dimension 0 is the group."""
        self._groupings[self._name] = (comm_group_type, shards, variable_retrieval_mode)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parameter, name)
