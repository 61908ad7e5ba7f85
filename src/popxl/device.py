"""The device of a session."""

from __future__ import annotations

from typing import Any, Protocol

from popart import DeviceType
from tremula.frontends.popxl.session import PopxlSession


class DeviceInfo(Protocol):
    """The device interface that a session uses; `popart.DeviceInfo` has it as well."""

    type: Any
    numIpus: Any

    @property
    def isAttached(self) -> Any:
        """Whether it is held."""

    def attach(self) -> Any:
        """Acquire the device."""

    def detach(self) -> Any:
        """Release the device."""


class _OwnDevice:
    """The device that a session chooses by its description."""

    def __init__(self, program: PopxlSession, kind: DeviceType, ipus: int) -> None:
        self._program = program
        self.type = kind
        self.numIpus = ipus

    @property
    def isAttached(self) -> bool:
        """Whether it is held."""
        return self._program.attached

    def attach(self) -> bool:
        """Acquire the device."""
        self._program.attach()
        return True

    def detach(self) -> None:
        """Release the device."""
        self._program.detach()


def device_of(description: Any, program: PopxlSession, ipus: int, device_id: int | None = None) -> DeviceInfo:
    """The device for a description, or the device itself if one is given; `device_id` is that of hardware.

    Raises:
        ValueError: there is no such device.
    """
    if not isinstance(description, str):
        if not hasattr(description, "attach"):
            raise ValueError(
                f"The device must be ipu_hw, ipu_model, cpu or a popart.DeviceInfo, not {description!r}."
            )
        program.on(use_model=True, ipus=ipus)
        return description
    if description == "cpu":
        if ipus > 1:
            raise ValueError(
                f"The device 'cpu' is one device; the program needs {ipus}. Use 'ipu_model' or 'ipu_hw'."
            )
        program.on(use_model=True, ipus=1)
        return _OwnDevice(program, DeviceType.Cpu, 1)
    if description == "ipu_model":
        program.on(use_model=True, ipus=ipus)
        return _OwnDevice(program, DeviceType.IpuModel, ipus)
    if description == "ipu_hw":
        program.on(use_model=None, ipus=ipus, device_id=device_id)
        return _OwnDevice(program, DeviceType.Ipu, ipus)
    raise ValueError(
        f"Incorrect device type provided: {description}, must be one of: `ipu_hw`, `ipu_model`, `cpu`"
    )
