"""The description of a PopART session in an executable: its graph, options and variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tremula.frontends.onnx.run.identity import identity_of, take_variables, variables_of

from ._enums import DeviceType
from ._executables import Executables

if TYPE_CHECKING:
    import torch

    from tremula.frontends.onnx.run.session import GraphSession
    from tremula.frontends.sessions.executables import Identity

    from ._devices import DeviceInfo
    from ._patterns import Patterns


class SessionExecutables(Executables):
    """Executables of a session of an ONNX graph."""

    _session: GraphSession
    _device: DeviceInfo
    _patterns: Patterns
    _model_source: bytes | str | os.PathLike[str]

    @property
    def _device_type(self) -> DeviceType:
        return self._device.type

    @property
    def _is_prepared(self) -> bool:
        return self._session.prepared

    def _identity(self) -> Identity:
        updater = self._session.updater
        settings = {
            "session": type(self).__name__,
            "optimizer": None if updater is None else updater.description,
            "IPUs": self._device.numIpus,
            "enabled patterns": self._patterns.enabled(),
            **self._options._of_program(),
        }
        return identity_of(self._model_source, self._session, settings)

    def _variables(self) -> dict[str, torch.Tensor]:
        if self._session.device:
            self._session.weights_to_host()
        return variables_of(self._session)

    def _take_variables(self, values: Mapping[str, torch.Tensor], path: str) -> None:
        take_variables(self._session, values, path)
