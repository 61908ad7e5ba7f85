"""What is asked of sessions about compiled executables, which there are none of here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

from ._enums import DeviceType
from ._exceptions import popart_exception

if TYPE_CHECKING:
    from ._devices import DeviceInfo


class SessionExecutables:
    """Executables of a session: all of these raise."""

    _device: DeviceInfo

    def compileAndExport(self, filename: str | os.PathLike[str]) -> NoReturn:
        """Not there: raises popart_exception."""
        self._refuse("compileAndExport")

    def saveExecutable(
        self, path: str | os.PathLike[str], savePopartMetadata: bool = True, saveVariables: bool = True
    ) -> NoReturn:
        """Not there: raises popart_exception."""
        self._refuse("saveExecutable")

    def saveVariables(self, path: str | os.PathLike[str]) -> NoReturn:
        """Not there: raises popart_exception."""
        self._refuse("saveVariables")

    def loadExecutable(self, filename: str | os.PathLike[str]) -> NoReturn:
        """Not there: raises popart_exception."""
        self._refuse("loadExecutable")

    def _refuse(self, function: str) -> NoReturn:
        if self._device.type is DeviceType.IpuModel:
            raise popart_exception("Executables for device type ipu-model cannot be saved")
        raise popart_exception(
            f"{function}: PopART sessions have no executable here, as nothing is compiled for the device. Keep the "
            "model with its weights instead (modelToHost), and make a session of that file."
        )
