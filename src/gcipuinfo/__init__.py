"""Attributes of the virtual IPUs of this machine, for monitoring programs, in the format of gcipuinfo.

Attribute names are constants of this module (`gcipuinfo.IpuPower` is "ipu power") and of the class. Power and
temperatures are modelled; utilisation is measured. Reading attributes changes
nothing, so it also works inside a program that trains.
"""

from __future__ import annotations

import json

from tremula.errors import Error
from tremula.machine import events, inventory

from . import _attributes
from ._attributes import *

#: the last ones are names of attributes
__all__ = [  # noqa: RUF022
    "DeviceDiscoveryMode",
    "DiscoverActivePartitionIPUs",
    "DiscoverAllPartitionIPUs",
    "gcipuinfo",
    "AverageBoardTemp",
    "AverageDieTemp",
    "BoardIpuIndex",
    "BoardSerialNumber",
    "BoardType",
    "BoardVariant",
    "Clock",
    "ConfigDomain",
    "DriverVersion",
    "FirmwareMajorVersion",
    "FirmwareMinorVersion",
    "FirmwarePatchVersion",
    "FirmwareVersion",
    "GatewaySoftwareVersion",
    "GraphStreaming",
    "HexoattActiveSizeBytes",
    "HexoattTotalSizeBytes",
    "HexoptActiveSizeBytes",
    "HexoptTotalSizeBytes",
    "HostLinkCorrectableErrorCount",
    "Id",
    "IpuArchitecture",
    "IpuErrorState",
    "IpuPower",
    "IpuUtilisation",
    "IpuUtilisationSession",
    "IpuofHost",
    "IpuofPartitionId",
    "IpuofRoutingId",
    "IpuofRoutingType",
    "IpuofServerVersion",
    "LinkCorrectableErrorCount",
    "LinkSpeed",
    "LinkWidth",
    "NumaNode",
    "NumberOfReplicas",
    "ParityInitialised",
    "PartitionSyncType",
    "PciId",
    "PciePhysicalSlot",
    "ProcessStartTime",
    "ReconfigurablePartition",
    "RemoteBuffersSupported",
    "Target",
    "TotalBoardPower",
    "UserExecutable",
    "UserName",
    "UserProcessId",
]


class DeviceDiscoveryMode(int):
    """Which partitions are looked at."""


DiscoverActivePartitionIPUs = DeviceDiscoveryMode(0)
DiscoverAllPartitionIPUs = DeviceDiscoveryMode(1)


class gcipuinfo:
    """The attributes of all single IPUs, as they were when they were last looked at.

    Args:
        discoveryMode: which partitions; the active one by default.
    """

    keyRecordPath = "event record path"
    keyTimestamp = "timestamp"
    keySeverity = "severity"
    keyCommandLine = "command line"
    keyPid = "pid"
    keyAttachedIPUs = "attached ipus"
    keySpecificIPUs = "specific ipus"
    keyAttachedIPUHosts = "attached ipu hosts"
    keySpecificIPUHosts = "specific ipu hosts"
    keyPartition = "partition"
    keyDescription = "description"

    def __init__(self, discoveryMode: int = DiscoverActivePartitionIPUs) -> None:
        self._every_partition = int(discoveryMode) == int(DiscoverAllPartitionIPUs)
        self._always = False
        self._devices: list[dict[str, str]] = []
        self._problem = ""
        self.updateData()

    def updateData(self) -> bool:
        """Read the attributes again. Return False if that is not possible; the list of devices is then empty."""
        try:
            found = inventory.rooms(every_partition=self._every_partition)
            self._devices = list(inventory.all_attributes(found))
            self._problem = ""
        except Error as error:
            self._devices, self._problem = [], error.message
        return not self._problem

    def setUpdateMode(self, autoUpdate: bool) -> None:
        """Set whether each call reads the attributes again."""
        self._always = bool(autoUpdate)

    def getDevices(self) -> list[dict[str, str]]:
        """The attributes of each IPU."""
        return [dict(device) for device in self._seen()]

    def getDevicesAsJSON(self) -> str:
        """The attributes of each IPU as JSON."""
        return json.dumps({"devices": self._seen()})

    def getNumDevices(self) -> int:
        """The number of IPUs."""
        return len(self._seen())

    def getAttributesForDevice(self, deviceId: int) -> dict[str, str]:
        """The attributes of one IPU. Empty if there is no IPU with this id."""
        return dict(self._device(deviceId))

    def getAttributesForDeviceAsJSON(self, deviceId: int) -> str:
        """The attributes of one IPU as JSON."""
        return json.dumps(self._device(deviceId))

    def getNamedAttributeForDevice(self, deviceId: int, attribute: str) -> str:
        """One attribute of one IPU, or N/A if the IPU does not have it."""
        return self._device(deviceId).get(attribute, inventory.UNKNOWN)

    def getNamedAttributeForAll(self, attribute: str) -> list[str]:
        """One attribute of each IPU, or N/A for IPUs that do not have it."""
        return [device.get(attribute, inventory.UNKNOWN) for device in self._seen()]

    def checkHealthOfDevices(self) -> str:
        """The IPUs that have a fault, by host, as JSON: {} if none has. Faults are simulated (GCDA_OPTIONS)."""
        self.updateData()
        if self._problem:
            return json.dumps({"error": self._problem})
        hosts: dict[str, list[dict[str, str]]] = {}
        for device in self._devices:
            state = device["ipu error state"]
            if state != "no errors":
                where = device.get("ipuof host", device["pci id"])
                kind = "connection" if "LINKDN" in state else "device"
                entry = {"error": kind, "id": device["id"], "board ipu index": device["board ipu index"]}
                partition = device.get("ipuof partition id")
                hosts.setdefault(where, []).append(entry | ({"partition": partition} if partition else {}))
        return json.dumps({"hosts": hosts} if hosts else {})

    def getLastAppEventRecord(self, eventRecordPath: str = "") -> dict[str, str]:
        """The last fault that a program recorded in that folder (IPU_APP_EVENT_RECORD_PATH by default)."""
        return events.last(eventRecordPath)

    def getLastAppEventRecordAsJSON(self, eventRecordPath: str = "") -> str:
        """The last fault that a program recorded, as JSON."""
        return json.dumps(self.getLastAppEventRecord(eventRecordPath))

    def _seen(self) -> list[dict[str, str]]:
        if self._always:
            self.updateData()
        return self._devices

    def _device(self, device_id: int) -> dict[str, str]:
        wanted = str(int(device_id))
        return next((device for device in self._seen() if device["id"] == wanted), {})


for _label in __all__[4:]:
    setattr(gcipuinfo, _label, getattr(_attributes, _label))
