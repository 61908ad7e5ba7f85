"""`DeviceManager` and its devices: the host, IPU models, virtual IPUs, and offline devices."""

from __future__ import annotations

import builtins
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from tremula.errors import Error
from tremula.machine import device_ids
from tremula.machine.attach import Attachment
from tremula.machine.occupancy import current_occupancy

from ._enums import DeviceConnectionType, DeviceSelectionCriterion, DeviceType, SyncPattern
from ._exceptions import popart_errors, popart_exception, poplar_exception

_WORKERS = 6
_TILES = {"ipu2": 1472, "ipu21": 1472, "ipu1": 1216}
_DEFAULT_VERSION = "ipu2"
_SIMULATED_TILES = 4
_MODEL_OPTIONS = ("numIPUs", "tilesPerIPU", "ipuVersion", "compileIPUCode")
#: from one try to the next while waiting for a device
_POLL_SECONDS = 0.1


class DeviceInfo:
    """One device."""

    def __init__(
        self,
        kind: DeviceType,
        *,
        ipus: int = 1,
        tiles: int = 0,
        version: str = "",
        connection: DeviceConnectionType = DeviceConnectionType.Always,
        id: int = 0,
        wait_seconds: int = 0,
    ) -> None:
        self._kind, self._ipus, self._tiles, self._version = kind, ipus, tiles, version
        self._connection, self._id, self._wait = connection, id, wait_seconds
        self._attachment: Attachment | None = None
        self._attached = False

    @property
    def type(self) -> DeviceType:
        """The kind of device."""
        return self._kind

    @property
    def connectionType(self) -> DeviceConnectionType:
        """When it is attached."""
        return self._connection

    @property
    def version(self) -> str:
        """The version of its IPUs."""
        return self._version

    @property
    def ipuVersion(self) -> str:
        """The version of its IPUs."""
        return self._version

    @property
    def id(self) -> int:
        """The id of the device."""
        return self._id

    @property
    def numIpus(self) -> int:
        """The number of IPUs."""
        return self._ipus

    @property
    def tilesPerIPU(self) -> int:
        """The number of tiles of each IPU."""
        return self._tiles

    tilesPerIpu = tilesPerIPU

    @property
    def driverIds(self) -> list[int]:
        """The numbers of its IPUs."""
        if self._kind is not DeviceType.Ipu or self._attachment is None:
            return [self._id]
        return list(self._attachment.device.ipus)

    @property
    def isAttached(self) -> bool:
        """Whether this process is attached to the device."""
        return self._attached

    @property
    def numWorkerContexts(self) -> int:
        """Worker threads of a tile."""
        return _WORKERS

    @property
    def attachment(self) -> Attachment | None:
        """The hold on virtual IPUs; None for other devices, and while it is not attached."""
        return self._attachment if self._attached else None

    def attach(self) -> bool:
        """Attach to the device. Returns whether that succeeded."""
        if self._attached:
            return True
        if self._connection is DeviceConnectionType.Never:
            raise popart_exception("An offline device cannot be attached: its connection type is Never.")
        if self._kind is DeviceType.Ipu:
            try:
                attachment = Attachment(self._ipus, device_id=self._id, hardware=True)
                attachment.attach()
            except Error:
                return False
            self._attachment = attachment
        self._attached = True
        return True

    def tryAttachUntilTimeout(self) -> bool:
        """Attach to the device, waiting up to the time-out of the device manager."""
        deadline = time.monotonic() + self._wait
        while not self.attach():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def detach(self) -> None:
        """Release the device."""
        if self._attachment is not None:
            self._attachment.detach()
        self._attached = False

    def __enter__(self) -> DeviceInfo:
        return self

    def __exit__(
        self,
        kind: builtins.type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.detach()

    def __repr__(self) -> str:
        return f"Device Type:{self._kind} Connection Type:{self._connection.name} IPU count:{self._ipus}"


class DeviceManager:
    """Finds and creates devices."""

    _wait_seconds = 0

    def setOnDemandAttachTimeout(self, attachTimeout: int) -> None:
        """Set the number of seconds to wait for devices that are attached on demand."""
        DeviceManager._wait_seconds = int(attachTimeout)

    def createCpuDevice(self) -> DeviceInfo:
        """The host."""
        return DeviceInfo(DeviceType.Cpu)

    def createIpuModelDevice(self, opts: Mapping[str, Any]) -> DeviceInfo:
        """A model of IPUs."""
        return _made(DeviceType.IpuModel, opts)

    def createSimDevice(self, opts: Mapping[str, Any]) -> DeviceInfo:
        """A simulator: the same model of IPUs."""
        return _made(DeviceType.Sim, {"tilesPerIPU": _SIMULATED_TILES, **opts})

    def createOfflineIPUDevice(self, opts: Mapping[str, Any]) -> DeviceInfo:
        """IPUs that programs are only compiled for."""
        return _made(DeviceType.OfflineIpu, opts, DeviceConnectionType.Never)

    def createOfflineIpuFromDeviceInfo(self, deviceInfo: DeviceInfo) -> DeviceInfo:
        """IPUs as those of a device, that programs are only compiled for."""
        opts = {
            "numIPUs": deviceInfo.numIpus,
            "tilesPerIPU": deviceInfo.tilesPerIPU,
            "ipuVersion": deviceInfo.ipuVersion or _DEFAULT_VERSION,
        }
        return _made(DeviceType.OfflineIpu, opts, DeviceConnectionType.Never)

    def createOfflineIpuFromSystemString(self, system: str, numIpus: int) -> DeviceInfo:
        """IPUs of a named system, that programs are only compiled for."""
        return _made(DeviceType.OfflineIpu, {"numIPUs": numIpus}, DeviceConnectionType.Never)

    def enumerateDevices(
        self,
        pattern: SyncPattern = SyncPattern.Full,
        numIpus: int = 1,
        deviceType: DeviceType = DeviceType.Ipu,
        connectionType: DeviceConnectionType = DeviceConnectionType.Always,
        tilesPerIPU: int = 0,
    ) -> list[DeviceInfo]:
        """The devices of this machine with this number of IPUs."""
        if deviceType is not DeviceType.Ipu:
            return []
        with popart_errors():
            found = current_occupancy()
            if found is None:
                return []
            version, tiles = _chip(found.system)
            return [
                DeviceInfo(
                    DeviceType.Ipu,
                    ipus=numIpus,
                    tiles=tilesPerIPU or tiles,
                    version=version,
                    connection=connectionType,
                    id=each.id,
                    wait_seconds=self._wait_seconds,
                )
                for each in found.candidates(numIpus)
            ]

    def tryAcquireAvailableDevice(
        self,
        numIpus: int = 1,
        tilesPerIpu: int = 0,
        pattern: SyncPattern = SyncPattern.Full,
        connectionType: DeviceConnectionType = DeviceConnectionType.Always,
        selectionCriterion: DeviceSelectionCriterion = DeviceSelectionCriterion.First,
    ) -> DeviceInfo | None:
        """A device with this number of IPUs, or None. It is attached unless the connection type says otherwise."""
        if numIpus < 1:
            raise popart_exception(f"A device must have at least 1 IPU, not {numIpus}.")
        for device in self.enumerateDevices(pattern, numIpus, DeviceType.Ipu, connectionType, tilesPerIpu):
            if connectionType is not DeviceConnectionType.Always or device.attach():
                return device
        return None

    def acquireAvailableDevice(self, *args: Any, **kwargs: Any) -> DeviceInfo:
        """Like `tryAcquireAvailableDevice`, but raises an error if there is no device."""
        found = self.tryAcquireAvailableDevice(*args, **kwargs)
        if found is None:
            ipus = args[0] if args else kwargs.get("numIpus", 1)
            raise popart_exception(
                f"Failed to acquire device with {ipus} IPUs. Ensure that there are sufficient IPUs available. If you "
                "have enabled the Poplar SDK you can check device availability with the `gc-monitor` command-line "
                "utility."
            )
        return found

    def tryAcquireDeviceById(
        self,
        id: int,
        pattern: SyncPattern = SyncPattern.Full,
        connectionType: DeviceConnectionType = DeviceConnectionType.Always,
    ) -> DeviceInfo | None:
        """The device with a number; None if it is not free."""
        with popart_errors():
            found = current_occupancy()
            size = 0 if found is None else found.partition.size
            try:
                device = device_ids.device(id, size)
            except Error:
                raise poplar_exception(f"No such device set id: '{id}'") from None
        there = self.enumerateDevices(pattern, len(device.ipus), DeviceType.Ipu, connectionType)
        wanted = next((each for each in there if each.id == id), None)
        if wanted is None:
            return None
        if connectionType is DeviceConnectionType.Always and not wanted.attach():
            return None
        return wanted

    def acquireDeviceById(self, id: int, *args: Any, **kwargs: Any) -> DeviceInfo:
        """The device with a number; an error if it is not free."""
        found = self.tryAcquireDeviceById(id, *args, **kwargs)
        if found is None:
            raise popart_exception(f"Failed to acquire device with id '{id}'")
        return found


def _made(
    kind: DeviceType,
    opts: Mapping[str, Any],
    connection: DeviceConnectionType = DeviceConnectionType.Always,
) -> DeviceInfo:
    unknown = [name for name in opts if name not in _MODEL_OPTIONS]
    if unknown:
        raise popart_exception(
            f"Unknown option '{unknown[0]}' of a device; the options are {', '.join(_MODEL_OPTIONS)}."
        )
    version = str(opts.get("ipuVersion", _DEFAULT_VERSION))
    if version not in _TILES:
        raise popart_exception(f"Unknown IPU version '{version}'; the versions are {', '.join(_TILES)}.")
    ipus, tiles = int(opts.get("numIPUs", 1)), int(opts.get("tilesPerIPU", 0)) or _TILES[version]
    return DeviceInfo(kind, ipus=ipus, tiles=tiles, version=version, connection=connection)


def _chip(system: Any) -> tuple[str, int]:
    """The version and tiles of the IPUs of a virtual system."""
    return _DEFAULT_VERSION, int(system.hardware.chip.tiles)


__all__ = ["DeviceInfo", "DeviceManager"]
